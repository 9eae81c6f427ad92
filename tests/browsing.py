"""Pages in Chromium: how tests start it, and show a page on a screen of some width in a light or dark theme."""

import shutil

import pytest

BROWSER, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def start(profile):
    """A browser that logs the messages of pages; skips the test if Chromium, its driver or selenium is missing."""
    if not (BROWSER and DRIVER):
        pytest.skip("needs chromium and chromedriver")
    pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def show(browser, address, *, width=1000, theme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": [feature]})
    browser.get(address)


def is_without_sideways_scroll(browser):
    root = "document.documentElement"
    return browser.execute_script(f"return {root}.scrollWidth == {root}.clientWidth")
