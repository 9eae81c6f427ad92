"""What every test of an exported model does: check the graph, run it, and compare with the model itself."""

import numpy as np
import onnx
import onnxruntime
import pytest

from separatrix.onnx import to_onnx
from separatrix.onnx.graph import Graph

TOLERANCE = 1e-5


def run_graph(proto, feed):
    """The outputs of a graph by name, after the checker has passed it."""
    onnx.checker.check_model(proto, full_check=True)
    return run_unchecked(proto, feed)


def run_unchecked(proto, feed):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, feed), strict=True))


@pytest.fixture
def run():
    return run_graph


@pytest.fixture
def ask():
    """The answers of an exported model to a table of numbers."""

    def answers(model, X, **options):
        dtype = np.float64 if options.get("dtype") == "float64" else np.float32
        return run_graph(to_onnx(model, **options), {"X": np.asarray(X, dtype=dtype)})

    return answers


@pytest.fixture
def agree(ask):
    """Labels, and probabilities or scores, of the graph and of the model."""

    def check(model, X, **options):
        rows = np.asarray(X, dtype=np.float64 if options.get("dtype") == "float64" else np.float32).astype(np.float64)
        found = ask(model, rows, **options)
        np.testing.assert_array_equal(found["label"], model.predict(rows))
        if "probabilities" in found:
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=0, atol=TOLERANCE)
        else:
            scores = model.decision_function(rows)
            assert found["scores"].shape == scores.shape
            np.testing.assert_allclose(found["scores"], scores, rtol=TOLERANCE, atol=TOLERANCE)
        return found

    return check


@pytest.fixture
def evaluate():
    """A function of values, of arrays: the graph it makes, run in double precision, without stating its shapes."""

    def value_of(function, *arrays):
        graph = Graph()
        inputs = [graph.input(f"x{i}", "double", [None] * np.ndim(a)) for i, a in enumerate(arrays)]
        found = function(*inputs)
        outputs = found if isinstance(found, tuple) else (found,)
        named = {f"y{i}": (each, "double", None) for i, each in enumerate(outputs)}
        feed = {f"x{i}": np.asarray(a, dtype=np.float64) for i, a in enumerate(arrays)}
        answers = list(run_unchecked(graph.assemble(named, "function"), feed).values())
        return answers if isinstance(found, tuple) else answers[0]

    return value_of
