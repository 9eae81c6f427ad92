"""Studies that reports are written of: two classes, five, a model without weights, and names that mean harm."""

import numpy as np
import pandas as pd
import pytest

from separatrix.datasets import make_mixed_types
from separatrix.study import conduct, examine

HOSTILE = "<script>alert(\"x\")</script> & 'quoted' {{ 7 * 7 }} 🦞"
FAST = ["prior only", "naive Bayes", "logistic (Bayesian)"]


def customers(n, seed):
    """Gaps, an id to be dropped, and columns of four kinds."""
    table, y = make_mixed_types(n, as_frame=True, missing=0.05, rng=seed)
    joined = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n) * 2, unit="D")
    return table.assign(customer=y, customer_id=[f"c{i:05d}" for i in range(n)], joined=joined)


@pytest.fixture(scope="package")
def study_of_two():
    return conduct(customers(600, 0), "customer", name="customers.csv", models=FAST)


@pytest.fixture(scope="package")
def study_of_new_rows(study_of_two):
    """The same model and rows of which nobody knows whether it has seen them."""
    return examine(study_of_two.model, customers(50, 9), "customer")


@pytest.fixture(scope="package")
def study_of_five():
    rng = np.random.default_rng(5)
    codes = rng.integers(5, size=240)
    table = pd.DataFrame(
        {
            "size": codes + rng.normal(size=240),
            "weight": rng.normal(size=240) - 0.7 * codes,
            "colour": np.array(["red", "green", "blue", "teal"])[(codes + rng.integers(3, size=240)) % 4],
            "species": np.array(["setosa", "versicolor", "virginica", "pallida", "one with a long name"])[codes],
        }
    )
    return conduct(table, "species", name="irises.parquet", models=["logistic (Bayesian)"])


@pytest.fixture(scope="package")
def study_without_weights():
    return conduct(customers(300, 1), "customer", models=["naive Bayes"])


@pytest.fixture(scope="package")
def hostile_study():
    rng = np.random.default_rng(8)
    x = rng.normal(size=200)
    table = pd.DataFrame(
        {
            HOSTILE: x,
            "w" * 300: rng.normal(size=200),
            "level": np.array([HOSTILE, "</style>", "b" * 200])[rng.integers(3, size=200)],
            "<b>target</b>": np.where(x + rng.normal(size=200) > 0, HOSTILE, "a&b<c>" + "long" * 60),
        }
    )
    return conduct(table, "<b>target</b>", name=HOSTILE, models=["logistic (Bayesian)"])
