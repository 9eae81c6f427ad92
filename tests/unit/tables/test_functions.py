"""What a model of a table has weights for, and the scales of its prior, before it is fitted."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.rows import open_rows
from separatrix.table import TableEncoder
from separatrix.tables import Ramps, TableClassifier
from separatrix.tables.functions import bendable, functions_of, make_ready, moments_of, names_of

TABLE, Y = make_mixed_types(300, as_frame=True, rng=0)
ENCODER = TableEncoder().fit(TABLE)
NUMBERS = ENCODER.transform(TABLE)
TUNED = sx.BayesianLogisticRegression(tune="evidence")


def test_moments_are_those_of_all_rows_dense_or_sparse_and_through_a_basis():
    for rows in (NUMBERS, sparse.csr_array(NUMBERS)):
        found = moments_of(open_rows(rows).rows())
        assert_allclose(found.mean, NUMBERS.mean(axis=0))
        assert_allclose(found.std, NUMBERS.std(axis=0))
    basis = Ramps([0]).fit(NUMBERS)
    assert_allclose(moments_of(open_rows(NUMBERS).rows(), basis).std, basis.transform(NUMBERS).std(axis=0))


def test_a_prior_that_was_stated_and_models_without_one_stay_as_they_are():
    for estimator in (sx.LogisticRegression(), sx.BayesianLogisticRegression(), TUNED.set_params(prior=None)):
        before = estimator.get_params()
        ready = make_ready(TableClassifier(estimator), ENCODER.schema_, NUMBERS)
        assert estimator.get_params() == before
        assert (ready.moments is None) == (getattr(estimator, "tune", None) is None)


def test_a_constant_number_has_a_scale_too():
    table = TABLE.assign(fixed=[1.0] * 299 + [2.0])
    encoder = TableEncoder().fit(table)
    rows = np.asarray(encoder.transform(table))[:299]  # on which it does not vary
    scale = make_ready(TableClassifier(TUNED), encoder.schema_, rows).estimator.prior.scale
    assert (scale > 0).all()


def test_functions_and_their_names_stand_in_one_order():
    model = TableClassifier(sx.LogisticRegression(), curved=True).fit(TABLE, Y)
    Phi, names = functions_of(model, NUMBERS), names_of(model)
    assert Phi.shape == (300, len(names)) == (300, model.estimator_.coef_.shape[1])
    for level in TABLE["contract"].unique():
        assert_array_equal(Phi[:, names.index(f"contract={level}")], TABLE["contract"] == level)
    own = np.array(model.sources_) == "tenure"
    assert_array_equal(own, [name.startswith("tenure") for name in names])


def test_numbers_and_days_bend_and_marks_do_not():
    days = pd.date_range("2020-01-01", periods=60)
    table = pd.DataFrame(
        {
            "x": [np.nan, *np.random.default_rng(0).normal(size=59)],
            "flag": [True, False] * 30,
            "day": days,
            "same": [3] * 60,
        }
    )
    schema = TableEncoder(types={"same": "number"}).fit(table).schema_
    assert {schema.columns[j] for j in bendable(schema)} == {"x", "day: days"}
