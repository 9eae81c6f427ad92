import json
import signal
import subprocess
import sys

import pytest

from separatrix.cli import explain as verb


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["fti"], "Did you mean 'fit'?"),
        (["fit", "a.csv", "--taget", "y"], "No such option: --taget. Did you mean --target?"),
        (["fit"], "Missing argument 'DATA'. See separatrix fit --help."),
        (["fit", "a.csv"], "Missing option '--target'"),
        (["fit", "a.csv", "-t", "y", "--level", "95"], "95 is not between 0 and 1"),
        (["fit", "a.csv", "-t", "y", "--seed", "x"], "--seed"),
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
    monkeypatch.setattr(verb, "evidence_of", _raise)
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


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_terminate_leave_nothing_behind(folder, signum):
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
        "main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signum)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.split() == ["Error:", "Stopped.", "No", "file", "was", "written", "or", "changed."]
    assert sorted(folder.iterdir()) == before


def test_a_reader_that_goes_away_is_no_error(folder):
    header, *rows = (folder / "loans.csv").read_text().splitlines()
    (folder / "many.csv").write_text("\n".join([header, *rows * 20]))  # more than a pipe holds
    command = f"{sys.executable} -c 'from separatrix.cli import main; main()' predict model.sx many.csv -o -"
    script = f"{command} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")
