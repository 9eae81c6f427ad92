import subprocess
import sys

import pytest

from separatrix import __version__

VERBS = ("fit", "compare", "predict", "explain", "report", "plot", "export", "datasets", "demo")


def test_help_needs_none_of_the_heavy_libraries():
    script = (
        "import sys\n"
        "from separatrix.cli import main\n"
        "sys.argv = ['separatrix', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit as done:\n    code = done.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'matplotlib', 'pandas', 'numba'} & set(sys.modules)\n"
        "print('code', code, 'heavy', sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("code 0 heavy []\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples_and_json(run, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"separatrix {verb}" in result.stdout.partition("Examples")[2]
    assert "--json" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_examples_name_only_options_there_are(run):
    """Every option of an example is in the help of its verb."""
    for verb in VERBS:
        text = run(verb, "--help").stdout
        options, _, shown = text.partition("Examples")
        wanted = {word for word in shown.split() if word.startswith("--")}
        assert all(f"{word} " in options for word in wanted), (verb, wanted)


def test_help_states_the_exit_codes_and_lists_the_verbs(run):
    text = run("--help").stdout
    assert all(verb in text for verb in VERBS)
    assert "130" in text
    assert run().stdout == text  # no verb: the same


def test_the_version(run, run_json):
    assert run("--version").stdout == f"separatrix {__version__}\n"
    assert run_json("--version") == {"version": __version__}


def test_without_typer_the_command_says_what_to_install():
    script = "import sys\nsys.modules['typer'] = None\nfrom separatrix.cli import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'separatrix[app]'" in done.stderr
    assert "Traceback" not in done.stderr
