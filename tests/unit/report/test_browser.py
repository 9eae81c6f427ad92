"""The report in a browser: nothing is asked for, nothing overflows, all is there in light, in dark and on paper."""

import base64
import re
import shutil

import pytest

from separatrix.report import write_report

BROWSER, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ["study_of_two", "study_of_five", "study_without_weights", "hostile_study"]
OVERFLOWING = """
    const width = document.documentElement.clientWidth;
    const inside = e => e.closest('.scroll, .unseen, .skip, details:not([open]), svg svg');
    return [...document.querySelectorAll('body *')]
        .filter(e => !inside(e) && e.getBoundingClientRect().right > width + 1)
        .map(e => e.tagName + '.' + e.getAttribute('class'));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def addresses(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {n: write_report(request.getfixturevalue(n), folder / f"{n}.html").as_uri() for n in NAMES}


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


def lightness(browser):
    """Of the ground, from 0 to 255."""
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3]) / 3


@pytest.mark.parametrize("name", NAMES)
def test_no_errors_and_no_requests(browser, addresses, name):
    show(browser, addresses[name])
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.styleSheets.length") == 1  # its own, which the policy let in


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_the_screen(browser, addresses, name, width):
    show(browser, addresses[name], width=width)
    assert is_without_sideways_scroll(browser)
    assert browser.execute_script(OVERFLOWING) == []


def test_folded_parts_fit_when_opened(browser, addresses):
    show(browser, addresses["study_of_five"], width=400)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert is_without_sideways_scroll(browser)


@pytest.mark.parametrize(("theme", "is_light"), [("light", True), ("dark", False)])
def test_the_ground_follows_the_system_and_the_reader(browser, addresses, theme, is_light):
    show(browser, addresses["study_of_two"], theme=theme)
    assert (lightness(browser) > 128) == is_light
    other = "dark" if is_light else "light"
    browser.execute_script(f"document.getElementById('theme-{other}').click()")
    assert (lightness(browser) > 128) != is_light


def test_the_theme_can_be_chosen_by_keyboard(browser, addresses):
    from selenium.webdriver.common.keys import Keys

    show(browser, addresses["study_of_two"])
    chosen = browser.find_element("id", "theme-auto")
    chosen.send_keys(Keys.ARROW_LEFT)  # round to the last
    assert lightness(browser) < 128


def test_a_class_can_be_singled_out(browser, addresses):
    show(browser, addresses["study_of_five"])
    lines = "[...document.querySelectorAll('#effects .curves .line')]"
    shown = f"return {lines}.filter(e => getComputedStyle(e).opacity > 0.5).map(e => e.classList.contains('c2'))"
    assert set(browser.execute_script(shown)) == {True, False}
    browser.execute_script("document.getElementById('only-2').click()")
    assert set(browser.execute_script(shown)) == {True}


def test_the_one_class_of_two_is_in_full_colour(browser, addresses):
    show(browser, addresses["study_of_two"])
    marks = "[...document.querySelectorAll('#effects :is(.curves .line, .dot, .whisker)')]"
    assert browser.execute_script(f"return {marks}.length") > 5
    assert browser.execute_script(f"return {marks}.every(e => getComputedStyle(e).opacity == 1)")


def test_pictures_are_as_wide_as_their_place_and_marks_are_inside(browser, addresses):
    show(browser, addresses["study_of_two"], width=400)
    outside = """
        return [...document.querySelectorAll('.picture')].flatMap(p => {
            const box = p.getBoundingClientRect();
            return [...p.querySelectorAll('circle, rect')].map(e => e.getBoundingClientRect())
                .filter(r => box.width > 0 && (r.left < box.left - 5 || r.right > box.right + 5));
        }).length
    """
    assert browser.execute_script(outside) == 0


def test_it_prints_on_white_paper(browser, addresses):
    show(browser, addresses["study_of_two"], width=688, theme="dark")
    browser.execute_script("document.getElementById('theme-dark').click()")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert lightness(browser) == 255
    assert is_without_sideways_scroll(browser)  # on A4, but for its margins
    assert not browser.find_element("css selector", "nav").is_displayed()
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 15
