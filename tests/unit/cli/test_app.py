import json
import signal
import subprocess
import sys

import pytest

from separatrix import __version__
from separatrix.cli import explain

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


@pytest.mark.parametrize("error", ["ImportError('no libblas', name='numpy')", "AttributeError('no libblas')"])
def test_a_library_that_cannot_be_loaded_is_a_paragraph_and_no_trace(tmp_path, error):
    (tmp_path / "numpy.py").write_text(f"raise {error}")
    (tmp_path / "t.csv").write_text("a,y\n1,x\n2,z\n")
    script = "import sys\nsys.path.insert(0, '.')\nfrom separatrix.cli import main\nmain()\n"
    command = [sys.executable, "-c", script, "fit", "t.csv", "--target", "y"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "no libblas" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["fti"], "Did you mean 'fit'?"),
        (["fit", "a.csv", "--taget", "y"], "No such option: --taget. Did you mean --target?"),
        (["fit"], "Missing argument 'DATA'. See separatrix fit --help."),
        (["fit", "a.csv"], "Missing option '--target'"),
        (["fit", "a.csv", "-t", "y", "--level", "95"], "95 is not between 0 and 1"),
        (["fit", "a.csv", "-t", "y", "--seed", "x"], "--seed"),
        (["fit", "a.csv", "-target", "y"], "Did you mean --target, with two dashes?"),
    ],
)
def test_wrong_usage_is_one_paragraph_with_the_nearest_word(run, typed, said):
    result = run(*typed)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_errors_are_documents_with_json_usage_included(run):
    result = run("fit", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "usage"
    result = run("explain", "nothing.sx", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["code"] == 3
    assert result.stderr == ""


def _raise(*_, **__):
    raise ZeroDivisionError("a slip")


def test_a_bug_shows_its_trace_only_if_asked(folder, run, monkeypatch):
    monkeypatch.setattr(explain, "evidence_of", _raise)
    result = run("explain", "model.sx")
    assert result.exit_code == 1
    assert "ZeroDivisionError: a slip" in result.stderr
    assert "Traceback" not in result.stderr
    for typed in (["explain", "model.sx", "--debug"], ["--debug", "explain", "model.sx"]):
        assert "Traceback" in run(*typed).stderr


def test_after_two_dashes_words_are_no_options(run):
    result = run("explain", "--", "--json")
    assert result.exit_code == 3
    assert "--json" in result.stderr


def test_ctrl_c_and_terminate_leave_nothing_behind(folder):
    before = sorted(folder.iterdir())
    slow = (
        "import sys, time, separatrix.cli.scoring as s\n"
        "score = s.Scorer.score\n"
        "def slow(self, batch):\n"
        "    scores = score(self, batch)\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "s.Scorer.score = slow\n"
        "sys.argv = ['separatrix', 'predict', 'model.sx', 'loans.csv', '-o', 'out.csv']\n"
        "from separatrix.cli import main\n"
        "for _ in range(2):\n"
        "    try:\n        main()\n"
        "    except SystemExit as stopped:\n        print(stopped.code, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for signum in (signal.SIGINT, signal.SIGTERM):
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signum)
        assert process.stdout.readline() == "130\n"
        assert sorted(folder.iterdir()) == before
    _, said = process.communicate(timeout=30)
    assert said.split() == 2 * ["Error:", "Stopped.", "No", "file", "was", "written", "or", "changed."]


def test_a_reader_that_goes_away_is_no_error(folder):
    header, *rows = (folder / "loans.csv").read_text().splitlines()
    (folder / "many.csv").write_text("\n".join([header, *rows * 20]))  # more than a pipe holds
    command = f"{sys.executable} -c 'from separatrix.cli import main; main()' predict model.sx many.csv -o -"
    script = f"{command} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_json_may_be_asked_for_before_the_verb(folder, run):
    before, after = run("--json", "explain", "model.sx"), run("explain", "model.sx", "--json")
    assert before.exit_code == 0
    assert json.loads(before.stdout) == json.loads(after.stdout)


def test_what_was_written_before_it_was_stopped_is_told(folder, run, monkeypatch):
    from separatrix.cli.console import Voice

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Voice, "finish", stop)
    result = run("predict", "model.sx", "loans.csv", "-o", "out.csv", "--no-intervals")
    assert result.exit_code == 130
    assert "Written before that: out.csv." in result.stderr
    monkeypatch.undo()
    assert "No file was written" not in run("explain", "model.sx").stderr
