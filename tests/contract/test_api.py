"""Public names: documented, visible to type checkers, and fast to import."""

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import separatrix as sx
from separatrix._lazy import LazyModule
from separatrix.study import conduct

ROOT = Path(sx.__file__).parent


def typed_names():
    """Names that type checkers see: imported under TYPE_CHECKING."""
    tree = ast.parse((ROOT / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname for node in block.body for alias in node.names}


def test_type_checkers_and_python_see_the_same_names():
    assert typed_names() == set(sx.__all__) - {"__version__"}
    assert set(sx.__all__) <= set(dir(sx))
    assert {"study", "report"} <= set(dir(sx))


def test_every_public_name_exists_and_is_documented():
    assert [name for name in sx.__all__ if name != "__version__" and not inspect.getdoc(getattr(sx, name))] == []


def test_public_functions_and_displays_name_all_their_arguments():
    """Editors and ``help()`` show no options that are hidden in ``**options``."""
    displays = [getattr(sx.plots, name) for name in sx.plots.__all__]
    methods = [getattr(display, name) for display in displays for name in vars(display) if name.startswith("from_")]
    called = [*methods, sx.compare, sx.decide, sx.regularization_path, sx.to_onnx, conduct]
    assert [f for f in called if "**" in str(inspect.signature(f))] == []


@pytest.mark.parametrize("name", [name for name in sx._MODULES if hasattr(getattr(sx, name), "__path__")])
def test_public_folders_list_their_names(name):
    """Names that a package only imports are errors for the type checker of a user."""
    folder = getattr(sx, name)
    assert set(folder.__all__) <= set(vars(folder))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'LogisticRegresion'"):
        _ = sx.LogisticRegresion


def test_an_optional_library_that_is_not_installed_is_named_with_its_extra():
    missing = LazyModule("no_such_library", "data")  # not imported before its first use
    with pytest.raises(ModuleNotFoundError, match=r"no_such_library.*pip install 'separatrix\[data\]'"):
        _ = missing.Table


def test_a_function_that_uses_an_optional_library_can_be_sent_to_another_process():
    """Modules cannot be pickled; cloudpickle, which sends local functions, makes an exception for their exact type."""
    sent = pickle.loads(pickle.dumps(LazyModule("json", "data")))
    assert sent.loads("[1]") == [1]


def test_every_module_has_a_license_and_a_docstring():
    sources = {path: path.read_text() for path in ROOT.rglob("*.py")}
    assert [
        path for path, text in sources.items() if not text.startswith("# SPDX-License-Identifier: BSD-3-Clause\n")
    ] == []
    assert [path for path, text in sources.items() if not ast.get_docstring(ast.parse(text))] == []


HEAVY = {
    "pass": "sklearn scipy numpy matplotlib",
    "sx.LeastSquaresClassifier().fit([[0.], [1.], [3.]], [0, 1, 0])": "matplotlib dask torch cupy numba duckdb polars",
}


@pytest.mark.parametrize("use", HEAVY, ids=["import", "fit"])
def test_heavy_libraries_are_imported_only_if_needed(use):
    code = f"import sys, separatrix as sx; {use}; print(sorted(set({HEAVY[use].split()}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
