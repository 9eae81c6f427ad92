"""Columns of free text: how they are recognised, encoded, weighted, fitted, explained, saved and scanned."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

import separatrix as sx
from separatrix.exceptions import DataError, ExportError
from separatrix.report import render
from separatrix.rows import NamedRows
from separatrix.study import MODELS, BatchScorer, compare_models, conduct
from separatrix.table import Schema, TableEncoder, infer_types, table_statistics
from separatrix.table.words import Documents, Prose, frequent_terms, words_of
from separatrix.table_model import explain

COMMON = words_of("the a to is at of my call you for now we on it are not so from was that")
OF_CLASS = {"spam": words_of("free prize claim win cash urgent"), "ham": words_of("home later love dinner sorry ok")}


def messages(n, rng=0):
    """A table of messages, some missing, with the length in a second column, and their classes."""
    rng = np.random.default_rng(rng)
    y = np.where(rng.random(n) < 0.4, "spam", "ham")
    texts = []
    for label in y:
        words = [*rng.choice(COMMON, 6), *rng.choice(OF_CLASS[label], 2), *rng.choice(OF_CLASS["ham"], 1)]
        texts.append(" ".join([*rng.permutation(words), f"x{rng.integers(10**9)}"]).capitalize() + ".")
    table = pd.DataFrame({"message": texts, "length": [len(text) for text in texts]})
    table.loc[::17, "message"] = None
    return table, y


TABLE, Y = messages(160)
TUNED = sx.TableClassifier(sx.LogisticRegression(tol=1e-10), {"message": "text"}, tuned=True)


def plan_of(texts, **types):
    return infer_types(table_statistics(pd.DataFrame({"c": texts})), types).plans[0]


# -- text, ids, codes and names ----------------------------------------------------------------------------------------

FIRST = ("Anna", "Bo", "Clara", "Dirk", "Emma", "Finn", "Greta", "Hans")
LAST = ("Adler", "Berg", "Clausen", "Dorn", "Engel", "Falk")
NAMES = [f"{last}, Mrs. {first} {other}" for last in LAST for first in FIRST for other in FIRST if first != other]
CITIES = ("New York", "San Jose", "Santa Fe")
SENTENCES = [" ".join(np.random.default_rng(i).choice([*COMMON, *OF_CLASS["ham"]], 10)) for i in range(120)]
LOWER_NAMES = [
    f"{first} {other} {last}".lower() for last in LAST for first in FIRST for other in FIRST if first != other
]
LOWER_ADDRESSES = [
    f"{i} {tree} {way}, {city.lower()}" for i, tree in enumerate(("oak", "elm", "ash", "fir") * 20)
    for way, city in zip(("street", "lane", "road"), CITIES, strict=True)
]  # fmt: skip
SHORT = [" ".join(text.split()[: 4 + i % 3]) for i, text in enumerate(SENTENCES)]
HINDI_WORDS = ["मैं", "आज", "यहाँ", "हूँ", "तुम", "कल", "वहाँ", "थे", "बहुत", "अच्छी", "किताब", "पढ़ी"]
HINDI = [" ".join(np.random.default_rng(i).choice(HINDI_WORDS, 6)) for i in range(60)]
DESCRIPTIONS = [f"{' '.join(text.split()[:8])} machine" for text in SENTENCES]
CHINESE = ["".join(np.random.default_rng(i).choice(list("我你今天在公园看到了鸟狗猫牛很喜欢"), 8)) for i in range(60)]
KINDS = {
    "sentences": (SENTENCES, "text"),
    "long text in capitals": ([text.upper() for text in SENTENCES], "text"),
    "sentences without spaces": (CHINESE, "text"),
    "short text": (SHORT, "text"),
    "text with vowel signs": (HINDI, "text"),
    "names": (NAMES, "id or name"),
    "names in lower case": (LOWER_NAMES, "id or name"),
    "addresses in lower case": (LOWER_ADDRESSES, "id or name"),
    "templates": ([f"order {i} of customer {i % 7} was sent on day {i * 3}" for i in range(60)], "id or name"),
    "ids": ([f"id{i}" for i in range(60)], "id or name"),
    "hashes": ([f"{i * 7919 % 2**31:08x}-{i:04x}" for i in range(60)], "id or name"),
    "addresses": ([f"{i} Main Street, {city}" for i in range(60) for city in CITIES], "id or name"),
    "mail": ([f"anna.berg{i}@example.com" for i in range(60)], "id or name"),
    "random words": ([" ".join(f"{chr(97 + i % 26)}{chr(97 + j)}{i * 31 + j:x}q".translate({ord(d): chr(103 + int(d))
                     for d in "0123456789"}) for j in range(5)) for i in range(60)], "id or name"),
    "long texts that are rarely repeated": (SENTENCES * 3, "text"),
    "long texts that are often repeated": (DESCRIPTIONS * 20, "categorical"),
    "categories of several words": (["not at all sure", "more or less sure", "very sure indeed"] * 20, "categorical"),
    "dates": ([f"{day} March 2024" for day in range(1, 29)] * 2, "categorical"),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "kind"), KINDS.values(), ids=KINDS)
def test_free_text_is_distinguished_from_ids_names_and_categories(texts, kind):
    assert plan_of(texts).kind == kind


def test_the_notes_say_why_a_column_is_text_or_not_and_how_to_override():
    note = plan_of(SENTENCES).note
    assert "'c' is read as free text" in note
    assert "words on average" in note
    assert "--types c=drop" in note
    note = plan_of(NAMES).note
    assert "100 % of its words begin with a capital letter, as in names" in note
    assert "--types c=text" in note
    two = [f"{one} {other}" for one in COMMON for other in COMMON if one != other]
    assert "its values have 2.0 words on average, and free text has at least 3" in plan_of(two).note
    assert "words" not in plan_of([f"id{i}" for i in range(60)]).note
    assert "most of its words have a fixed place in short values, as in names" in plan_of(LOWER_ADDRESSES).note


def test_types_override_the_rule():
    assert plan_of(NAMES, c="text").kind == "text"
    assert plan_of(SENTENCES, c="drop").kind == "dropped"
    assert plan_of(["red wine", "red car", "red", "blue"] * 3, c="text").names == (
        "c: red", "c: blue", "c: car", "c: red car", "c: red wine", "c: wine"
    )  # fmt: skip
    with pytest.raises(DataError, match="Column 'c' cannot be 'text': it has numbers"):
        plan_of([1.0, 2.5], c="text")
    plan = plan_of([f"w{i} v{i}" for i in range(50)], c="text")
    assert "none of its words is in 3 rows or more" in plan.note


# -- words and their weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't CALL: 2 b_c!", ["don't", "call", "2", "b_c"]),
        ("it\u2019s 'quoted'", ["it's", "quoted"]),
        ("Straße, cafe\u0301 naïve Ёлка", ["straße", "café", "naïve", "ёлка"]),
        ("ＦＲＥＥ 😀 \u2028 entry", ["free", "entry"]),
        ("東京に", ["東", "京", "に"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("العَرَبِيَّةُ لُغَةٌ", ["العربية", "لغة"]),
        ("שָׁלוֹם", ["שלום"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("İzmir", ["i\u0307zmir"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("\udc80 lone", ["lone"]),
        ("... !", []),
    ],
)
def test_words_of_any_script(text, words):
    assert words_of(text) == words


def test_weights_are_those_of_scikit_learn_up_to_the_norm():
    texts = TABLE["message"].dropna().tolist()
    encoder = TableEncoder(sparse=True).fit(pd.DataFrame({"c": texts}))
    (plan,) = encoder.schema_.plans
    peer = TfidfVectorizer(
        ngram_range=(1, 2),
        min_df=3,
        sublinear_tf=True,
        norm=None,
        tokenizer=words_of,
        token_pattern=None,
        lowercase=False,
    )
    expected = peer.fit_transform(texts)
    assert set(plan.terms) == set(peer.vocabulary_)
    norm = np.sqrt(expected.multiply(expected).sum(axis=1))
    expected = np.asarray(expected.todense()) / np.sqrt(np.asarray(norm))
    found = encoder.transform(pd.DataFrame({"c": texts})).toarray()
    np.testing.assert_allclose(
        found, expected[:, [peer.vocabulary_[term] for term in plan.terms]], rtol=1e-12, atol=1e-14
    )


def test_terms_are_the_most_frequent_ones():
    documents = Documents.of({"b a": 5, "a c": 3, "c": 4, "d": 2})
    assert frequent_terms(documents).names == ("a", "c", "b", "b a", "a c")
    assert frequent_terms(documents, max_terms=3).names == ("a", "c", "b")
    assert frequent_terms(documents, min_rows=5).names == ("a", "c", "b", "b a")
    assert frequent_terms(Documents()).names == ()


def test_missing_and_empty_text_and_new_words():
    def column(*texts):
        return pd.DataFrame({"c": texts})

    encoder = TableEncoder(types={"c": "text"}, sparse=False).fit(column(*["good day"] * 3, None, "", "  "))
    assert encoder.get_feature_names_out().tolist() == ["c: day", "c: good", "c: good day", "c is missing"]
    X = encoder.transform(column("unheard of", None, "", "good"))
    assert (X[0] == 0).all()
    assert X[1].tolist() == X[2].tolist() == [0, 0, 0, 1]
    assert X[3].tolist() == [0, X[3, 1], 0, 0]
    assert X[3, 1] > 0
    complete = TableEncoder(types={"c": "text"}).fit(column(*["good day"] * 4))
    assert complete.unseen(column("other", None)) == {"c": {"(missing)": 1}}


def test_texts_without_a_known_word_are_reported():
    foreign = ["guten Tag und auf Wiedersehen", None, "le temps est beau", "ok", "guten Tag und auf Wiedersehen"]
    table = pd.DataFrame({"message": foreign, "length": 20})
    model = clone(TUNED).fit(TABLE, Y)
    expected = (
        "'message' has 3 values in which no word is known from the training rows, the first is 'guten Tag und auf"
    )
    with pytest.warns(UserWarning, match=expected):
        model.predict(table)
    scorer = BatchScorer(model)
    scorer.score(pa.table(TABLE.iloc[:5]))
    scorer.score(pa.Table.from_pandas(table))
    assert str(scorer.counts.odd["message"]).endswith("in row 6: predicted like a text without words.")
    assert not scorer.counts.new_values
    with pytest.raises(DataError, match="Column 'message' had text when its type was inferred, and now it has dates"):
        model.predict(table.assign(message=pd.Timestamp("2024-01-01")))


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas, lambda table: table.to_dict("records")])
def test_every_library_gives_the_same_features(library):
    expected, found = (TableEncoder().fit(table) for table in (TABLE, library(TABLE)))
    assert found.schema_ == expected.schema_
    assert abs(found.transform(library(TABLE)) - expected.transform(TABLE)).max() == 0


def test_a_schema_with_text_is_restored_from_json():
    schema = TableEncoder().fit(TABLE).schema_
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert "text, 10 words on average; 10 missing (6.2 %)" in again.describe()


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
def test_words_help_to_predict():
    new, labels = messages(300, rng=1)
    models = {"tuned": TUNED, "bayes": sx.TableClassifier(sx.NaiveBayes(temper=True)), "default": sx.TableClassifier()}
    for model in models.values():
        model.fit(TABLE, Y)
        assert log_loss(labels, model.predict_proba(new), labels=model.classes_) < 0.35  # 0.67 for class proportions


def test_multinomial_columns_are_those_of_scikit_learn():
    encoder = TableEncoder(types={"length": "drop"}).fit(TABLE)
    X = encoder.transform(TABLE)
    names = encoder.schema_.columns
    words = [d for d, name in enumerate(names) if name != "message is missing"]
    model = sx.NaiveBayes(dict.fromkeys((names[d] for d in words), "multinomial")).fit(
        NamedRows(X[:, words], [names[d] for d in words]), Y
    )
    expected = MultinomialNB().fit(X[:, words], Y).predict_proba(X[:, words])
    np.testing.assert_allclose(
        model.predict_proba(NamedRows(X[:, words], [names[d] for d in words])), expected, rtol=1e-9
    )
    families = sx.TableClassifier(sx.NaiveBayes()).fit(TABLE, Y).estimator_.families_
    assert set(families[: len(words)]) == {"multinomial"}
    assert families[len(words)] == "bernoulli"
    assert "multinomial" not in families[len(words) + 1 :]


def test_only_logistic_regression_is_tuned_by_cross_validation():
    with pytest.raises(ValueError, match=r"tuned=True\) tunes the prior of a LogisticRegression"):
        sx.TableClassifier(sx.NaiveBayes(), tuned=True).fit(TABLE, Y)


def test_the_tuned_scale_is_near_the_best_on_new_rows():
    new, labels = messages(1000, rng=2)
    found = TUNED.fit(TABLE, Y)
    scale = found.estimator_.prior.scale
    losses = []
    for factor in (0.05, 0.2, 1.0, 5.0, 20.0):
        model = sx.TableClassifier(sx.LogisticRegression(prior=sx.Gaussian(factor * scale))).fit(TABLE, Y)
        losses.append(log_loss(labels, model.predict_proba(new)))
    assert losses[2] < 1.05 * min(losses)
    assert len(np.unique(scale[:-2])) == 1  # all words have one scale


@pytest.mark.slow  # tracing memory is slow
def test_fits_stay_sparse():
    table, y = messages(4000, rng=3)
    rare = np.random.default_rng(3).integers(4000, size=(4000, 8))
    table["message"] = table["message"].fillna("none") + [" " + " ".join(f"rare{i}" for i in row) for row in rare]
    models = [sx.TableClassifier(sx.LogisticRegression(solver="lbfgs", tol=1e-6), tuned=True)]
    models += [sx.TableClassifier(sx.NaiveBayes(temper=True))]
    tracemalloc.start()
    features = TableEncoder().fit(table).transform(table)
    for model in models:
        model.fit(table, y).predict_proba(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sparse.issparse(features)
    assert peak < features.shape[0] * features.shape[1] * 8 / 2


# -- from the file to the report ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    models = ["prior only", "naive Bayes", "logistic (cross-validated)"]
    return conduct(TABLE.assign(y=Y), "y", models=models, time=1000)


def test_a_study_compares_models_of_words(study):
    assert study.comparison.best() != "prior only"
    assert [note.topic for note in study.notes if "free text" in note.text] == ["text"]
    with pytest.raises(ValueError, match="it is for tables with free text"):
        compare_models(TABLE.drop(columns="message").assign(y=Y), "y", models=["logistic (cross-validated)"])


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
def test_words_are_explained(study):
    model = sx.TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, Y)
    found = {c.name: c for c in explain(model)}
    assert found["message: prize"].weight > 0 > found["message: dinner"].weight
    assert found["message: prize"].lower < found["message: prize"].weight < found["message: prize"].upper
    effect = next(effect for effect in study.effects if effect.column == "message")
    p = dict(zip(effect.values.tolist(), effect.mean[:, 1], strict=True))
    assert effect.kind == "text"
    assert p["claim"] > 0.5 > p["home"]
    page = render(study)
    assert "message: prize" in page
    assert "if it occurs" in page


def test_saved_models_and_scans_give_the_same_predictions(tmp_path):
    path = tmp_path / "messages.parquet"
    TABLE.assign(y=Y).to_parquet(path)
    expected = TUNED.fit(TABLE, Y).predict_proba(TABLE)
    scanned = clone(TUNED).fit(str(path), "y")
    np.testing.assert_allclose(scanned.predict_proba(str(path)), expected, atol=1e-6)
    again = sx.load(sx.save(TUNED, tmp_path / "model.sx"))
    np.testing.assert_array_equal(again.predict_proba(TABLE), expected)
    np.testing.assert_allclose(again.predict_proba(TABLE.iloc[3].to_dict()), expected[3:4])


def test_onnx_names_the_column_of_text():
    with pytest.raises(ExportError, match="column 'message' is free text"):
        sx.to_onnx(TUNED.fit(TABLE, Y))


# -- laws --------------------------------------------------------------------------------------------------------------


def test_a_weight_is_a_repetition_and_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(4)
    weight, order = rng.integers(0, 4, len(Y)), rng.permutation(len(Y))
    rows = rng.permutation(np.repeat(np.arange(len(Y)), weight))
    weighted = clone(TUNED).fit(TABLE, Y, weight)
    repeated = clone(TUNED).fit(TABLE.iloc[rows], Y[rows])
    assert weighted.encoder_.schema_.plans[0].terms == repeated.encoder_.schema_.plans[0].terms
    np.testing.assert_allclose(weighted.predict_proba(TABLE), repeated.predict_proba(TABLE), atol=1e-6)
    models = [clone(TUNED) for _ in range(2)]
    straight, shuffled = models[0].fit(TABLE, Y), models[1].fit(TABLE.iloc[order], Y[order])
    np.testing.assert_allclose(straight.predict_proba(TABLE), shuffled.predict_proba(TABLE), atol=1e-6)


@pytest.mark.parametrize("most", [10**9, 4000, 900, 0])
def test_documents_of_batches_are_those_of_the_table(most, monkeypatch):
    monkeypatch.setattr("separatrix.table.words.MAX_CHARACTERS", most)
    rng = np.random.default_rng(5)
    texts = rng.choice(TABLE["message"].dropna().to_numpy(), 400)
    whole = Documents.of(dict(pd.Series(texts).value_counts()))
    for _ in range(3):
        parts = [
            Documents.of(dict(pd.Series(part).value_counts()))
            for part in np.split(rng.permutation(texts), np.sort(rng.integers(0, 400, 4)))
        ]
        a, b, c, *rest = parts
        assert (a + b) + c == a + (b + c)
        assert sum([*rest, c, b, a], start=Documents()) == whole
    assert whole.is_sample == (most < 10**9)
    assert whole.n_characters <= most


def test_free_text_does_not_depend_on_the_batches():
    parts = [TABLE[:50], TABLE[50:51], TABLE[51:]]
    assert TableEncoder().fit_batches(parts).schema_.plans[0] == TableEncoder().fit(TABLE).schema_.plans[0]


def test_prose_of_nothing_is_no_text():
    assert Prose.of(Documents()).why_not


def test_every_model_of_a_study_has_a_place_in_the_order():
    assert list(MODELS).index("logistic (cross-validated)") < list(MODELS).index("logistic (Bayesian)")


def test_levels_are_hashed_if_requested_even_if_they_are_long():
    rng = np.random.default_rng(0)
    words = [f"branch{letter}" for letter in "abcdefghijklmnop"]
    levels = [" ".join(rng.choice(words, 9)) for _ in range(150)]
    encoder = TableEncoder(hashing=16).fit(pd.DataFrame({"branch": [levels[i % 150] for i in range(1500)]}))
    assert "hash" in type(encoder.schema_.plans[0]).__name__.lower()
