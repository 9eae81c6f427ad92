import pytest
from sklearn import linear_model
from sklearn.naive_bayes import GaussianNB

import separatrix as sx
from separatrix.comparison.candidates import name_models


class OnlyFit:
    def fit(self, X, y):
        return self


def test_models_are_named_by_what_they_are():
    assert list(name_models([GaussianNB(), sx.LogisticRegression()])) == ["GaussianNB", "LogisticRegression"]


def test_models_of_one_kind_are_told_apart():
    same = name_models([GaussianNB(), sx.LogisticRegression(), GaussianNB()])
    assert list(same) == ["GaussianNB 1", "LogisticRegression", "GaussianNB 2"]
    homes = name_models([sx.LogisticRegression(), linear_model.LogisticRegression()])
    assert list(homes) == ["separatrix.LogisticRegression", "sklearn.LogisticRegression"]


def test_models_are_cloned_with_their_settings_and_without_what_they_learnt():
    model = GaussianNB(var_smoothing=0.5).fit([[0.0], [1.0]], [0, 1])
    (found,) = name_models({"nb": model}).values()
    assert found is not model
    assert found.var_smoothing == 0.5
    assert "classes_" not in vars(found)


def test_any_object_with_the_right_methods_is_copied():
    class Plain(OnlyFit):
        def predict(self, X):
            return X

    model = Plain()
    (found,) = name_models([model]).values()
    assert type(found) is Plain
    assert found is not model


@pytest.mark.parametrize(
    ("models", "names", "error", "message"),
    [
        ([], None, ValueError, "models is empty"),
        ({}, None, ValueError, "models is empty"),
        (GaussianNB(), None, TypeError, "not a list of models"),
        (3, None, TypeError, "models=3 is not a list"),
        ([GaussianNB], None, TypeError, r"GaussianNB is a class, .* give GaussianNB\(\)"),
        ([OnlyFit()], None, TypeError, "needs fit and predict"),
        (["lda"], None, TypeError, "'lda' is not a classifier"),
        ({"a": GaussianNB()}, ["b"], ValueError, "has names already"),
        ([GaussianNB(), GaussianNB()], ["a", "a"], ValueError, "'a' stands for two models"),
        ([GaussianNB(), GaussianNB()], ["a"], ValueError, "one string for each of the 2 models"),
        ([GaussianNB()], [1], ValueError, "one string for each of the 1 models"),
        ({1: GaussianNB()}, None, ValueError, "one string for each"),
    ],
)
def test_what_cannot_take_part_is_named(models, names, error, message):
    with pytest.raises(error, match=message):
        name_models(models, names)
