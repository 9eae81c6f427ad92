import errno

import pytest

from separatrix.cli.errors import CODES, CommandError, failure_of, writing
from separatrix.exceptions import DataError
from separatrix.export import FileError
from separatrix.files import FileWriteError
from separatrix.table import encode_target


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("column 'age'"), 3),
        (FileError("damaged"), 3),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.csv"), 3),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "folder"), 3),
        (MemoryError(), 3),
        (FileWriteError("x.csv exists"), 4),
        (FileExistsError("x.html exists"), 4),
        (OSError(errno.ENOSPC, "No space left on device"), 4),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (ModuleNotFoundError("No module named 'onnx'", name="onnx"), 1),
        (ZeroDivisionError("division by zero"), 1),
        (CommandError("output", "x"), 4),
    ],
)
def test_every_way_to_end_has_its_code(error, code):
    assert failure_of(error).code == code


def test_a_bug_says_how_to_report_it_and_keeps_its_trace():
    try:
        raise ZeroDivisionError("division by zero")
    except ZeroDivisionError as error:
        failure = failure_of(error)
    assert "report" in str(failure)
    assert "test_errors.py" in failure.trace


def test_a_value_error_of_this_package_is_for_the_user_and_any_other_is_a_bug():
    def raised(call):
        try:
            call()
        except ValueError as error:
            return failure_of(error)
        raise AssertionError

    from separatrix._arguments import check_count

    assert raised(lambda: check_count("f", "n", -1)).code == CODES["data"]
    assert raised(lambda: int("x")).code == CODES["unexpected"]


def test_a_missing_library_is_named_with_what_to_install():
    assert "pip install" in str(failure_of(ModuleNotFoundError("No module named 'onnx'")))
    given = ModuleNotFoundError("Plots need matplotlib: pip install 'separatrix[plots]'")
    assert str(failure_of(given)) == str(given)
    assert "--force-reinstall numpy" in str(failure_of(ImportError("no libblas", name="numpy.linalg")))


def test_what_the_system_refuses_while_writing_is_about_the_output():
    with (
        pytest.raises(CommandError, match=r"out\.csv could not be written: No space left") as raised,
        writing("out.csv"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert raised.value.code == 4
    with pytest.raises(BrokenPipeError), writing("out.csv"):
        raise BrokenPipeError


def test_the_document_of_an_error():
    assert CommandError("data", "what").document() == {"error": {"kind": "data", "code": 3, "message": "what"}}


def test_remedies_are_those_of_the_command_line():
    with pytest.raises(DataError, match="types={'rating'") as raised:
        encode_target([0.5, 1.25, 2.75], name="rating")
    message = str(failure_of(raised.value))
    assert message.endswith("is a class, add --types rating=categorical.")
    assert "types={" not in message
