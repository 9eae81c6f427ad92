"""Saved models: the same answers from one file, or an error that says what to do."""

import errno
import io
import json
import os
import stat
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from problems import GENERATIVE, MODELS, blobs
from separatrix.io import FORMAT, FileError, load, packed, save

X, Y = blobs(90, distance=3.0)
LABELS = np.array(["ash", "birch", "cedar"])[Y]

EVERY = (
    MODELS
    | GENERATIVE
    | {
        "logistic": lambda: sx.LogisticRegression(),
        "logistic_rbf": lambda: sx.LogisticRegression(basis=sx.basis.Linear() + sx.basis.RBF("kmeans", n_centres=4)),
        "label_noise": lambda: sx.LabelNoiseLogisticRegression(noise=0.1),
        "logistic_polynomial": lambda: sx.LogisticRegression(basis=sx.basis.Polynomial(2)),
        "logistic_spline": lambda: sx.LogisticRegression(
            basis=sx.basis.Spline(knots="quantile") + sx.basis.Sigmoid(n_centres=3)
        ),
        "logistic_fourier": lambda: sx.LogisticRegression(basis=sx.basis.RandomFourier(6)),
        "bayesian": lambda: sx.BayesianLogisticRegression(approximation="laplace"),
        "by_class": lambda: sx.BayesianLogisticRegression(structure="by class"),
        "diagonal": lambda: sx.BayesianLogisticRegression(structure="diagonal"),
        "importance": lambda: sx.BayesianLogisticRegression(approximation="importance", rng=1),
        "model_average": lambda: sx.ModelAverage({"a": sx.BayesianLogisticRegression()}),
        "one_vs_rest": lambda: sx.OneVsRest(sx.LogisticRegression()),
        "decision_rule": lambda: sx.DecisionRule(sx.LogisticRegression(), costs=1 - np.eye(3)),
    }
)


@pytest.fixture
def saved(tmp_path):
    return save(sx.LogisticRegression().fit(X, LABELS), tmp_path / "model.sx")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", EVERY)
def test_a_loaded_model_gives_the_same_answers(name, tmp_path):
    model = EVERY[name]().fit(pd.DataFrame(X, columns=list("abcd")), LABELS)
    again = load(save(model, tmp_path / "model.sx"))
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    if "predict_proba" in dir(model):
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize(("family", "link"), [("poisson", None), ("binomial", "probit"), ("binomial", "cloglog")])
def test_a_regression_is_saved_without_its_training_rows(family, link, tmp_path):
    wide = np.tile(X, (40, 1))
    few, many = (sx.GeneralizedLinearModel(family, link).fit(rows, np.arange(len(rows)) % 3 % 2) for rows in (X, wide))
    paths = [save(model, tmp_path / f"{len(model.coefficient_names_)}{i}.sx") for i, model in enumerate((few, many))]
    assert paths[1].stat().st_size < paths[0].stat().st_size + 500
    np.testing.assert_array_equal(load(paths[1]).predict(X), many.predict(X))


def test_a_table_classifier(tmp_path):
    table, y = sx.datasets.make_mixed_types(200, as_frame=True, rng=0)
    table["joined"] = pd.Timestamp("2021-03-04") + pd.to_timedelta(np.arange(200), unit="D")
    model = sx.TableClassifier().fit(table, y)
    again = load(save(model, tmp_path / "table.sx"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_a_table_of_text_for_naive_bayes(tmp_path):
    table = pd.DataFrame({"plan": ["free", "pro", None, "pro"] * 5, "visits": np.arange(20) % 7, "share": 0.5})
    table.loc[::3, "share"] = 0.25
    model = sx.NaiveBayes({"visits": "poisson", "share": "beta"}).fit(table, np.arange(20) % 2)
    again = load(save(model, tmp_path / "table.sx"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_a_model_of_two_classes_and_a_regression(tmp_path):
    posterior = sx.BayesianLogisticRegression().fit(X, Y > 0)
    again = load(save(posterior, tmp_path / "posterior.sx"))
    np.testing.assert_array_equal(again.predict_interval(X), posterior.predict_interval(X))
    assert again.log_evidence_ == posterior.log_evidence_
    glm = sx.GeneralizedLinearModel("poisson").fit(X, Y)
    np.testing.assert_array_equal(load(save(glm, tmp_path / "glm.sx")).predict(X), glm.predict(X))


def test_the_file_is_a_zip_of_json_and_arrays(saved):
    with zipfile.ZipFile(saved) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        for name in archive.namelist():
            if name.endswith(".npy"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    assert manifest["format"] == FORMAT
    assert manifest["model"] == "LogisticRegression"


def test_nothing_is_replaced_unless_asked(saved):
    before = saved.read_bytes()
    other = sx.LogisticRegression(alpha=3.0).fit(X, LABELS)
    with pytest.raises(FileError, match=r"exists. Choose another name, or pass force=True"):
        save(other, saved)
    assert saved.read_bytes() == before
    save(other, saved, force=True)
    assert load(saved).alpha == 3.0
    assert [path.name for path in saved.parent.iterdir()] == ["model.sx"]


def test_what_cannot_be_saved_is_refused_and_leaves_nothing_behind(tmp_path):
    with pytest.raises(FileError, match="not a model of this package"):
        save(LogisticRegression().fit(X, Y), tmp_path / "a.sx")
    with pytest.raises(FileError, match=r"model.estimator is a sklearn.*which is not of this package"):
        save(sx.OneVsRest(LogisticRegression()).fit(X, Y), tmp_path / "b.sx")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        save(sx.LogisticRegression(), tmp_path / "a.sx")


def test_a_full_disk_changes_nothing(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"cannot be written \(No space left on device\). Nothing was changed"):
        save(sx.LogisticRegression(alpha=3.0).fit(X, LABELS), saved, force=True)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.sx"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="No such file or directory"):
        save(sx.LogisticRegression().fit(X, LABELS), tmp_path / "nowhere" / "model.sx")


def test_the_file_may_be_read_by_whoever_may_read_other_files(saved, tmp_path):
    (tmp_path / "other").write_text("")
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


def test_the_model_of_a_large_table_is_small(tmp_path):
    """Some hundred weights with all their covariances take less than a megabyte."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2000, 110))
    model = sx.BayesianLogisticRegression().fit(table, table[:, 0] + rng.normal(size=2000) > 0)
    assert save(model, tmp_path / "model.sx").stat().st_size < 1_000_000


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.sx")


def test_what_is_packed_is_what_a_file_holds(tmp_path):
    X, y = blobs(40, n_features=2, n_classes=2)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    (tmp_path / "a.sx").write_bytes(packed(model))
    np.testing.assert_array_equal(sx.load(tmp_path / "a.sx").predict_proba(X), model.predict_proba(X))
    with pytest.raises(FileError, match="not a model of this package"):
        packed(object())
