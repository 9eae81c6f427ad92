# SPDX-License-Identifier: BSD-3-Clause
"""The package: one version everywhere, and a wheel that runs the README's lines without the source tree."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import separatrix as sx

ROOT = Path(__file__).parents[2]
HIDE = """
import sys
class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden)
"""


def test_the_version_is_that_of_the_citation_and_of_the_newest_changes():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited[1] == newest[1] == sx.__version__


@pytest.mark.slow
def test_a_wheel_in_a_new_environment_runs_the_lines_of_the_readme(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        pytest.skip("needs pip and a package index")
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"separatrix-{sx.__version__}-")
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*.*") if "__pycache__" not in path.parts}
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    (packages,) = home.rglob("site-packages")
    # The dependencies are those of this environment; a path in a .pth file does not make its .pth files count.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, wheel]
    subprocess.run(install, check=True, capture_output=True)
    python = home / "bin" / "python"
    origin = [python, "-I", "-c", "import separatrix; print(separatrix.__file__)"]
    found = subprocess.run(origin, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert found.strip().startswith(str(packages))
    lines = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[1]
    lines = f"{HIDE}\n{lines}"  # the README does not install pandas and polars
    ran = subprocess.run([python, "-I", "-c", lines], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "[" in ran.stdout
    command = [python, "-I", packages / "bin" / "separatrix", "--version"]
    assert sx.__version__ in subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
