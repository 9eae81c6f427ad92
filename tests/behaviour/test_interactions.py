"""Interactions of two columns in `TableClassifier`: the basis of products, the search for pairs, and their use."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from separatrix import effects
from separatrix.bayesian import Products
from separatrix.likelihoods import Softmax
from separatrix.report import render
from separatrix.rows import as_source
from separatrix.solvers import pose
from separatrix.study import conduct, examine
from separatrix.study.candidates import CURVED, PAIRED, PRIOR
from separatrix.table import TableEncoder
from separatrix.table_model import Ramps, TableClassifier, pairs
from separatrix.table_model.pairs import Interactions, column_cells, loo_activations, ramp_products

RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(RNG.normal(size=(N, 4)), columns=list("abcd")).assign(g=RNG.choice(["u", "v", "w"], N))
SURFACE = TableClassifier(sx.LogisticRegression(alpha=1.0), curved=True, interactions=[("c", "d"), ("a", "g")])


def labels(log_odds, rng=RNG):
    return np.where(rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds)), "yes", "no")


Y = labels(TABLE.a + 2.5 * np.sign(TABLE.c * TABLE.d))


@pytest.fixture(scope="module")
def searched():
    return TableClassifier(curved=True, interactions=True).fit(TABLE, Y)


# -- warnings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_warn_if_two_columns_clearly_interact(classes):
    y = Y if classes == 2 else np.where(TABLE.b > 0.8, "maybe", Y)
    with pytest.warns(UserWarning, match=r"effects of 'c' and 'd' depend on each other.*interactions=\[\('c', 'd'\)\]"):
        TableClassifier(curved=True).fit(TABLE, y)


@pytest.mark.parametrize("effect", [lambda t: t.a + np.sin(2 * t.b), lambda t: 0 * t.a, lambda t: 20 * t.a - 20 * t.b])
def test_curves_do_not_warn_if_effects_add_up(effect):
    TableClassifier(sx.LogisticRegression(alpha=0.1), curved=True).fit(TABLE, labels(effect(TABLE)))


# -- products ----------------------------------------------------------------------------------------------------------


def test_a_surface_is_any_piecewise_bilinear_function_on_its_grid_up_to_functions_of_one_column():
    model = SURFACE.fit(TABLE, Y)
    products = model.basis_.functions_.products
    at = np.array(model.sources_) == "c × d"
    knots = {d: np.append(products.low[products.column == d], products.high[products.column == d][-1]) for d in (2, 3)}
    heights = RNG.normal(size=(len(knots[2]), len(knots[3])))
    x = np.column_stack([np.linspace(-3, 3, 60), RNG.normal(size=60)])  # beyond the ends, too
    i, j = (np.clip(np.searchsorted(k, v) - 1, 0, len(k) - 2) for k, v in zip(knots.values(), x.T, strict=True))
    u, v = (np.clip((z - k[c]) / (k[c + 1] - k[c]), 0, 1) for z, k, c in zip(x.T, knots.values(), (i, j), strict=True))
    H = heights
    bilinear = (
        (1 - u) * (1 - v) * H[i, j] + u * (1 - v) * H[i + 1, j] + (1 - u) * v * H[i, j + 1] + u * v * H[i + 1, j + 1]
    )
    rows = np.zeros((60, len(model.encoder_.schema_.columns)))
    rows[:, [2, 3]] = x
    Psi = model.basis_.functions_.evaluate(rows)[:, at]
    one = [np.clip((z[:, None] - k[:-1]) / np.diff(k), 0, 1) for z, k in zip(x.T, knots.values(), strict=True)]
    design = np.column_stack([np.ones(60), *one, Psi])
    residual = bilinear - design @ np.linalg.lstsq(design, bilinear, rcond=None)[0]
    assert np.abs(residual).max() < 1e-9
    assert at.sum() == (len(knots[2]) - 1) * (len(knots[3]) - 1) == 16


def test_products_are_those_of_an_explicit_formula():
    rows = TableEncoder(sparse=False).fit(TABLE)
    X = rows.transform(TABLE)
    cells = column_cells(rows.schema_, X, (0, 1, 2, 3))
    _, found, groups, spread = ramp_products(cells, Interactions((("a", "g"),), (("b", "c"),)), X)
    assert groups == (Products("a × g", 4),) * 12 + (Products("products", 1),)
    Psi = found.evaluate(X)
    ranks = []
    for d in (1, 2):  # an average of ramps between quantiles
        knots = np.append(cells["abcd"[d]].low, cells["abcd"[d]].high[-1])
        ranks.append(np.interp(X[:, d], knots, np.linspace(0, 1, len(knots))))
    assert_allclose(Psi[:, -1], np.prod([rank - rank.mean() for rank in ranks], axis=0), atol=1e-12)
    ramp = np.clip((X[:, 0] - cells["a"].low[1]) / (cells["a"].high[1] - cells["a"].low[1]), 0, 1)
    level = X[:, cells["g"].feature[2]]
    assert_allclose(Psi[:, 5], (ramp - ramp.mean()) * (level - level.mean()), atol=1e-12)
    assert_allclose(spread[-1], np.prod([rank.std() for rank in ranks]), rtol=1e-12)
    assert found.names(rows.schema_.columns)[-1] == "b × c"
    assert found.names(rows.schema_.columns)[5].endswith(f" × {rows.schema_.columns[cells['g'].feature[2]]}")


def test_leave_one_out_activations_are_close_to_those_of_fits_without_a_row():
    X, y = TABLE[["a", "b"]].to_numpy()[:60], Y[:60]
    options = {"prior": sx.Gaussian(1.0), "approximation": "laplace", "standardize": False}
    for codes in ((y == "yes").astype(int), np.arange(60) % 3):
        model = sx.BayesianLogisticRegression(**options).fit(X, codes)
        posterior = model.posterior_
        found = loo_activations(posterior.approximation, posterior.design, X, codes, np.ones(60))
        for n in (3, 20, 41):
            others = np.arange(60) != n
            exact = sx.BayesianLogisticRegression(**options).fit(X[others], codes[others])
            a = exact.decision_distribution(X[[n]]).mean[0]
            before = model.decision_distribution(X[[n]]).mean[0]
            assert np.abs(found[n] - a).max() < 0.1 * np.abs(before - a).max() + 1e-3


# -- the search --------------------------------------------------------------------------------------------------------


def test_an_exclusive_or_is_found_and_predicted(searched):
    assert ("c", "d") in searched.interactions_.surfaces
    assert searched.interactions_.gain > 2 * searched.interactions_.error
    rng = np.random.default_rng(1)
    new = pd.DataFrame(rng.normal(size=(1000, 4)), columns=list("abcd")).assign(g="u")
    y = labels(new.a + 2.5 * np.sign(new.c * new.d), rng)
    with pytest.warns(UserWarning, match="depend on each other"):
        additive = TableClassifier(curved=True).fit(TABLE, Y)
    assert searched.score(new, y) > additive.score(new, y) + 0.15
    assert searched.estimator_.log_evidence_ > additive.estimator_.log_evidence_ + 20


def test_a_slope_that_depends_on_a_category_is_found():
    y = labels(TABLE.b + 3 * np.where(TABLE.g == "u", 1, -1) * TABLE.d, np.random.default_rng(5))
    model = TableClassifier(curved=True, interactions=True).fit(TABLE, y)
    assert model.interactions_.surfaces[0] == ("d", "g")


@pytest.mark.slow
def test_many_weak_interactions_of_categories_are_found_together():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.choice(["u", "v", "w"], size=(600, 6)), columns=list("abcdef"))
    y = labels(np.where((table == "u").sum(axis=1) == 2, 3.0, -3.0), rng)  # exactly two of six columns are "u"
    found = TableClassifier(interactions=True).configured(*encoded(table), y).interactions
    assert len(found.products) == 15
    assert found.gain > 0.05


def test_three_classes():
    y = np.where(TABLE.c * TABLE.d > 0, np.where(TABLE.a > 0.5, "x", "y"), "z")
    model = TableClassifier(sx.LogisticRegression(alpha=1.0), curved=True, interactions=True).fit(TABLE, y)
    assert ("c", "d") in model.interactions_.surfaces
    assert model.score(TABLE, y) > 0.9


@pytest.mark.slow
def test_without_interactions_in_truth_nearly_none_are_accepted():
    accepted = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
        y = labels(table.a + np.sin(2 * table.b), rng)
        model = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=True, curved=True)
        found = model.configured(*encoded(table), y).interactions
        accepted.append(bool(found.surfaces or found.products))
    assert sum(accepted) <= 1


@pytest.mark.slow
def test_no_interactions_are_accepted_if_there_are_as_many_weights_as_rows():
    """Residuals of an additive model of all rows depend on the held-out labels; they showed a gain of 29 ± 6 nats."""
    rng = np.random.default_rng(100)
    code = np.column_stack([rng.integers(8, size=150) for _ in range(12)])
    a = np.zeros((150, 4))
    for column in code.T:
        a += rng.normal(0, 4 / np.sqrt(12), (8, 4))[column]
    y = (a + rng.gumbel(size=a.shape)).argmax(axis=1)
    table = pd.DataFrame({f"c{i}": np.char.add("l", column.astype(str)) for i, column in enumerate(code.T)})
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace"), curved=True, interactions=True)
    assert not model.configured(*encoded(table), y).interactions.pairs


def encoded(table):
    encoder = TableEncoder().fit(table)
    return encoder.schema_, encoder.transform(table)


def test_few_rows_and_a_single_column_have_no_interactions():
    for table, y in ((TABLE[:60], Y[:60]), (TABLE[["a"]], Y)):
        model = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=True).fit(table, y)
        assert not model.interactions_.pairs
        assert "No search for interactions was made: " in model.interactions_.describe()


def test_a_class_of_one_row_is_never_held_out():
    y = np.append("rare", Y[1:])
    model = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=True).fit(TABLE[["c", "d"]], y)
    assert ("c", "d") in model.interactions_.pairs


@pytest.mark.slow
def test_a_category_with_many_levels_does_not_hinder_the_search():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(4000, 2)), columns=list("ab")).assign(zip=rng.integers(1100, size=4000))
    y = labels(3 * table.a * table.b, rng)
    model = TableClassifier(types={"zip": "categorical"}, interactions=True).fit(table, y)
    assert ("a", "b") in model.interactions_.pairs


def test_interacting_columns_are_found_at_the_end_of_a_wide_table(monkeypatch):
    monkeypatch.setattr(pairs, "MAX_CELLS", 8)  # two of four numbers
    model = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=True)
    assert ("c", "d") in model.fit(TABLE, Y).interactions_.pairs


# -- use ---------------------------------------------------------------------------------------------------------------


def test_names_sources_and_prior_scales_of_a_pair(searched):
    at = np.array(searched.sources_) == "c × d"
    names = searched.get_feature_names_out()
    assert at.sum() == 16
    assert all(" × d from " in name for name in names[at])
    assert len(set(names)) == len(names)
    assert len(np.unique(searched.estimator_.prior_.scale[at])) == 1
    assert Products("c × d", 16) in searched.estimator_.tuning_.labels
    assert any("c from" in line and "× d" in line for line in str(searched.summary()).splitlines())


def test_a_saved_model_predicts_the_same(tmp_path, searched):
    again = sx.load(sx.save(searched, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(TABLE), searched.predict_proba(TABLE))
    assert again.interactions_ == searched.interactions_


def test_rows_of_a_file_give_the_same_model(tmp_path):
    TABLE.assign(label=Y).to_csv(tmp_path / "rows.csv", index=False)
    model = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=True)
    inside, outside = model.fit(TABLE, Y).coef_, model.fit(str(tmp_path / "rows.csv"), "label").coef_
    assert_allclose(outside, inside, atol=1e-7)


def test_sparse_rows_have_the_same_products():
    from scipy import sparse

    functions = SURFACE.fit(TABLE, Y).basis_.functions_
    X = np.abs(RNG.normal(size=(20, len(SURFACE.encoder_.schema_.columns))))
    assert_allclose(functions.evaluate(sparse.csr_array(X)).toarray(), functions.evaluate(X), atol=1e-12)


def test_ugly_tables_have_interactions_too():
    ugly = TABLE.assign(constant=1.0, rare=np.where(np.arange(N) < 3, "x", "y"), a=TABLE.a.where(TABLE.a > -1))
    ugly.loc[0, "b"] = 1e9
    model = TableClassifier(curved=True, interactions=True).fit(ugly, Y)
    assert ("c", "d") in model.interactions_.surfaces
    assert np.isfinite(model.predict_proba(ugly)).all()


def test_ramps_keep_their_products_when_they_are_fitted_again():
    basis = SURFACE.fit(TABLE, Y).basis_
    again = basis.frozen(basis.products)
    assert isinstance(again, Ramps)
    assert again.products is basis.products


def test_the_probability_along_a_column_averages_over_the_columns_that_interact_with_it(examined, monkeypatch):
    monkeypatch.setattr(effects.curves, "MAX_PROBABILITIES", 4e7)  # all rows instead of a sample
    found = effects.partial_effects(examined.model, examined.model.encoder_.transform(TABLE), rng=0)
    effect = next(effect for effect in found if effect.column == "c")
    at = [3, len(effect.values) - 4]
    mean = [examined.model.predict_proba(TABLE.assign(c=effect.values[g])).mean(axis=0) for g in at]
    assert_allclose(effect.mean[at], mean, atol=0.01)  # 1000 draws
    assert min(effect.importance for effect in examined.effects if effect.column in "cd") > 1


@pytest.fixture(scope="module")
def examined(searched):
    return examine(searched, TABLE.assign(y=Y), "y", positive="no")


def test_effects_of_a_pair_are_average_predictions_with_both_columns_set(examined):
    effect = examined.pair_effects[0]
    assert set(effect.columns) == {"c", "d"}
    assert effect.mean.shape == (3, len(effect.values), 2)
    along, other = effect.columns
    for v, g in ((0, 4), (2, len(effect.values) - 5)):
        rows = TABLE.assign(**{along: effect.values[g], other: effect.given[v]})
        assert_allclose(effect.mean[v, g], examined.model.predict_proba(rows).mean(axis=0), atol=0.03)
    assert (effect.lower <= effect.mean + 1e-9).all()
    assert np.ptp(effect.mean[0, :, 1]) > 0.3
    assert effect.mean[0, 4, 1] > 0.5 > effect.mean[2, 4, 1]  # the sign of the slope depends on the other column


def test_the_report_shows_the_lines_of_a_pair_and_names_the_gain(examined):
    page = render(examined)
    start = page.index('id="interactions"')
    section = page[start : page.index("</section>", start)]
    assert "c × d" in section
    assert section.count('class="line k') >= 6  # three lines, and their keys
    assert "nats per row" in section


def test_the_sentence_names_pairs_products_and_gain():
    assert "No interaction" in Interactions((), ()).describe()
    found = Interactions((("a", "b"),), (("c", "d"), ("c", "e")), 0.05, 0.01).describe()
    assert "a × b and products of 2 pairs of 3 columns" in found
    assert "0.0500 ± 0.0100 nats per row" in found


@pytest.mark.slow
def test_a_model_without_interactions_is_compared_unless_the_same_model_is_compared():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(600, 2)), columns=list("ab"))
    table["y"] = labels(3 * table.a, rng)
    study = conduct(table, "y", models=(PRIOR, PAIRED))
    assert study.choice.name == PAIRED


@pytest.mark.slow
def test_a_study_chooses_interactions_if_there_are_any_and_leaves_them_out_if_there_are_none():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(1000, 3)), columns=list("abc"))
    for slope, names in ((3.0, PAIRED), (0.0, CURVED)):
        y = labels(table.a + slope * table.b * table.c, rng)
        study = conduct(table.assign(y=y), "y", models=(CURVED, PAIRED))
        assert study.choice.name == names
        assert (PAIRED in study.comparison.names) == bool(slope)
        assert bool(study.pair_effects) == bool(slope)


def test_a_column_may_be_named_like_a_pair():
    """The column "a × b" next to an interaction of a and b: names, importances and levels stay apart."""
    table = TABLE[["a", "b", "g"]].assign(**{"a × b": np.where(TABLE.c > 0, "u", "v"), "b × g": TABLE.d})
    y = labels(2 * TABLE.a * TABLE.b + np.where(TABLE.c > 0, 1.0, -1.0), np.random.default_rng(3))
    pairs_of = [("a", "b"), ("a × b", "g"), ("a", "b × g")]
    model = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=pairs_of).fit(table, y)
    names, sources = model.get_feature_names_out().tolist(), np.array(model.sources_)
    assert len(set(names)) == len(names)
    assert set(sources) >= {"a × b", "'a' × 'b'", "'a × b' × g", "a × 'b × g'"}
    assert sorted(np.array(names)[sources == "a × b"]) == ["a × b=u", "a × b=v"]
    plain = table.rename(columns={"a × b": "side", "b × g": "width"})
    twin = TableClassifier(sx.LogisticRegression(alpha=1.0), interactions=[("a", "b"), ("side", "g"), ("a", "width")])
    found = examine(model, table.assign(y=y), "y"), examine(twin.fit(plain, y), plain.assign(y=y), "y")
    for kind in ("effects", "pair_effects"):
        sizes = [[effect.importance for effect in getattr(study, kind)] for study in found]
        assert_allclose(*sizes, rtol=1e-6)
    assert_allclose(*([c.weight for c in study.coefficients] for study in found), rtol=1e-6, atol=1e-9)


def test_steps_of_many_classes_never_lower_the_likelihood_of_their_rows():
    """Eleven vowels lost a million nats: classes that compete for a row stepped together, each as far as alone."""
    rng = np.random.default_rng(0)
    codes = np.arange(330) % 11
    X = rng.normal(size=(11, 10))[codes] * 1.5 + rng.normal(size=(330, 10))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    schema = TableEncoder().fit(pd.DataFrame(X).add_prefix("x")).schema_
    prior, weight = sx.Gaussian(10.0, intercept_scale=10.0), np.ones(330)
    additive = pose(as_source(X, codes, weight), Softmax(11), prior, fit_intercept=True, standardize=True)
    cells = column_cells(schema, X, range(10))
    search = pairs._Search(cells, X, codes, weight, additive, np.zeros((11, 11)), X)
    before = Softmax(11).derivatives(search.start, codes).log_p.sum()
    for after in (search.with_products()[0], *search.surfaces(search.start)[0]):
        assert Softmax(11).derivatives(after, codes).log_p.sum() >= before - 1e-9
