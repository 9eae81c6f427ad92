"""Files saved by older versions give the same predictions. They were written by saved/make.py, one per format."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.export import FORMAT

SAVED = Path(__file__).parent / "saved"
FILES = sorted(SAVED.glob("format*/*.sx"))


def test_there_are_files_of_every_format():
    assert {path.parent.name for path in FILES} == {f"format{number}" for number in range(1, FORMAT + 1)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_file_gives_the_predictions_stored_with_it(path):
    said = json.loads(path.with_suffix(".json").read_text())
    table = pd.DataFrame(said["rows"])
    model = sx.load(path)
    asked = table if said["is_frame"] else table.to_numpy()
    if isinstance(said["label"][0], float):
        np.testing.assert_allclose(model.predict(asked), said["label"], rtol=1e-9)
    else:
        assert model.predict(asked).tolist() == said["label"]
    if said["probabilities"] is not None:
        np.testing.assert_allclose(model.predict_proba(asked), said["probabilities"], rtol=1e-9, atol=1e-12)
