"""Studies made by hand, so that what the report says can be checked without how studies are conducted."""

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.study import Choice, Coefficient, Effect, HeldOut, Study
from separatrix.tables import TableClassifier

HOSTILE = "<script>alert(\"x\")</script> & 'quoted' {{ 7 * 7 }} 🦞"


def build_study(table, y, *, estimator=None, target="target", name="table.csv", notes=(), compared=None):
    """Learn from three rows of four; judge by the rest."""
    y = np.asarray(y)
    is_test = np.arange(len(y)) % 4 == 0
    model = TableClassifier(estimator or sx.BayesianLogisticRegression()).fit(table[~is_test], y[~is_test])
    classes, codes = np.unique(y, return_inverse=True)
    comparison = choice = None
    if compared:
        encoder = model.encoder_
        X = np.asarray(encoder.transform(table))
        comparison = sx.compare(compared, X[~is_test], y[~is_test], X_test=X[is_test], y_test=y[is_test])
        choice = Choice(comparison.best(), ("It has the best log-likelihood on test rows.",))
    return Study(
        name=name,
        target=target,
        n_rows=len(y),
        classes=classes,
        counts=np.bincount(codes),
        schema=model.encoder_.schema_,
        comparison=comparison,
        choice=choice,
        model=model,
        held_out=HeldOut(codes[is_test], model.predict_proba(table[is_test]), classes),
        coefficients=coefficients_of(model, table),
        effects=tuple(effect_of(model, table[:60], plan) for plan in model.encoder_.schema_.plans if plan.names),
        notes=tuple(notes),
        seconds=1.25,
    )


def coefficients_of(model, table):
    posterior = getattr(model.estimator_, "posterior_", None)
    if posterior is None:
        return ()
    spread = np.asarray(model.encoder_.transform(table)).std(axis=0)
    mean, std = np.atleast_2d(posterior.mean)[:, :-1], np.atleast_2d(posterior.std)[:, :-1]
    mean = np.atleast_2d(model.estimator_.coef_)
    std = np.resize(std, mean.shape)
    labels = model.classes_[1:] if len(mean) == 1 else model.classes_
    groups = model.encoder_.schema_.groups
    names = model.encoder_.schema_.columns
    return tuple(
        Coefficient(column, names[j], label, float(w[j]), float(w[j] - 2 * s[j]), float(w[j] + 2 * s[j]), float(w[j] * spread[j]))
        for label, w, s in zip(labels, mean, std, strict=True)
        for column, places in groups.items()
        for j in places
    )  # fmt: skip


def effect_of(model, table, plan):
    column = table[plan.column]
    if plan.kind == "number":
        values = np.linspace(np.nanmin(column), np.nanmax(column), 15)
    else:
        values = np.array(column.value_counts(dropna=True).index)
    mean, lower, upper, share = [], [], [], []
    for value in values:
        P = model.predict_proba(table.assign(**{plan.column: value}))
        mean.append(P.mean(axis=0))
        lower.append(P.mean(axis=0) * 0.9)
        upper.append(1 - (1 - P.mean(axis=0)) * 0.9)
        share.append(1 / len(values))
    mean = np.array(mean)
    return Effect(
        plan.column, plan.kind, values, mean, np.array(lower), np.array(upper), np.array(share), float(mean.std())
    )


def strict_frame(n, rng):
    table, y = sx.datasets.make_mixed_types(n, as_frame=True, missing=0.05, rng=rng)
    return table.assign(customer_id=[f"c{i:05d}" for i in range(n)]), y


@pytest.fixture(scope="package")
def study_of_two():
    table, y = strict_frame(600, 0)
    models = {
        "Bayesian logistic": sx.BayesianLogisticRegression(),
        "LDA": sx.LinearDiscriminantAnalysis(),
        "least squares": sx.LeastSquaresClassifier(),
        "naive Bayes": sx.NaiveBayes(),
    }
    notes = ("customer_id was dropped: text that is different in every row.",)
    return build_study(table, y, target="customer", name="customers.csv", notes=notes, compared=models)


@pytest.fixture(scope="package")
def study_of_five():
    rng = np.random.default_rng(5)
    codes = rng.integers(5, size=500)
    table = pd.DataFrame(
        {
            "size": codes + rng.normal(size=500),
            "weight": rng.normal(size=500) - 0.7 * codes,
            "colour": np.array(["red", "green", "blue", "teal"])[(codes + rng.integers(3, size=500)) % 4],
        }
    )
    species = np.array(["setosa", "versicolor", "virginica", "pallida", "iris with a rather long name"])[codes]
    return build_study(table, species, target="species", name="irises.parquet")


@pytest.fixture(scope="package")
def study_without_weights():
    table, y = strict_frame(300, 1)
    return build_study(table, y, estimator=sx.NaiveBayes())


@pytest.fixture(scope="package")
def hostile_study():
    rng = np.random.default_rng(8)
    x = rng.normal(size=200)
    table = pd.DataFrame(
        {
            HOSTILE: x,
            "w" * 300: rng.normal(size=200),
            "level": np.array([HOSTILE, "</style>", "b" * 200])[rng.integers(3, size=200)],
        }
    )
    y = np.where(x + rng.normal(size=200) > 0, HOSTILE, "a&b<c>" + "long" * 60)
    return build_study(table, y, target=HOSTILE, name=HOSTILE, notes=(f"{HOSTILE} separates the classes.",))
