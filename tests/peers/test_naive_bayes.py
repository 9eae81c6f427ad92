# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tests of naive Bayes."""

import numpy as np
from sklearn import naive_bayes
from sklearn.preprocessing import binarize

import separatrix as sx
from peers.suite import Adapter, NotTranslatedError, peer_tests


class NaiveBayes(Adapter, like=naive_bayes.GaussianNB):
    """What all adapters share."""

    def predict_joint_log_proba(self, X):
        X = self.table(X)
        return self.model_.predict_log_proba(X) + self.model_.log_density(X)[:, None]


class GaussianNB(NaiveBayes, like=naive_bayes.GaussianNB):
    def build(self, classes):
        is_smooth = self.var_smoothing > 1e-9  # a prior instead of a constant added to the variances
        return sx.NaiveBayes("normal", estimate="map" if is_smooth else "ml", priors=self.priors)

    class_prior_ = property(lambda self: self.model_.priors_)
    theta_ = property(lambda self: self.model_.densities_["normal"].mean)
    var_ = property(lambda self: self.model_.densities_["normal"].variance)


class DiscreteNB(NaiveBayes, like=naive_bayes.MultinomialNB):
    """What the models of counts share."""

    def arguments(self, classes):
        K = len(np.unique(classes))
        uniform = np.full(K, 1 / K) if K and not self.fit_prior else None
        return {"pseudo_count": self.alpha, "priors": uniform if self.class_prior is None else self.class_prior}

    class_log_prior_ = property(lambda self: np.log(self.model_.priors_))


class MultinomialNB(DiscreteNB, like=naive_bayes.MultinomialNB):
    def build(self, classes):
        return sx.ExponentialFamilyClassifier("multinomial", **self.arguments(classes))

    feature_log_prob_ = property(lambda self: self.model_.densities_["multinomial"].log_probability)
    feature_count_ = property(lambda self: self.model_.facts_.parts[0].total_u)


class BernoulliNB(DiscreteNB, like=naive_bayes.BernoulliNB):
    def build(self, classes):
        return sx.NaiveBayes("bernoulli", **self.arguments(classes))

    def table(self, X):
        return X if self.binarize is None else binarize(X, threshold=self.binarize)

    feature_log_prob_ = property(lambda self: np.log(self.model_.densities_["bernoulli"].probability))
    feature_count_ = property(lambda self: self.model_.facts_.parts[0].total_u[..., 0])


class CategoricalNB(DiscreteNB, like=naive_bayes.CategoricalNB):
    def build(self, classes):
        if self.min_categories is not None:
            raise NotTranslatedError("min_categories")
        return sx.NaiveBayes("categorical", **self.arguments(classes))

    @property
    def category_count_(self):
        facts = self.model_.facts_.parts[0]
        return [facts.counts[:, d, : len(values)] for d, values in enumerate(facts.values)]


ADAPTERS = {model.__name__: model for model in (GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB)}
globals().update(peer_tests("sklearn.tests.test_naive_bayes", naive_bayes=ADAPTERS))

DIFFERENT = {
    "partial_fit accepts new classes, so classes= is optional": """
        test_gnb test_NB_partial_fit_no_first_classes[BernoulliNB] test_NB_partial_fit_no_first_classes[CategoricalNB]
        test_NB_partial_fit_no_first_classes[MultinomialNB] test_NB_partial_fit_no_first_classes[GaussianNB]
        test_discretenb_provide_prior[BernoulliNB] test_discretenb_provide_prior[CategoricalNB]
        test_discretenb_provide_prior[MultinomialNB]
    """,
    "parameters are float64 also for float32 rows": "test_gnb_partial_fit[float32]",
    "maximum likelihood adds nothing to variances; the default, a prior, is better (0.86) than GaussianNB (0.81)": """
        test_check_accuracy_on_digits
    """,
    "a private attribute": "test_gnb_check_update_with_no_data test_check_alpha",
    "categories are the values that occur, not 0 to the largest": """
        test_categoricalnb test_categoricalnb_with_min_categories test_categoricalnb_min_categories_errors
    """,
    "fit needs two classes": """
        test_discretenb_degenerate_one_class_case[True-False-BernoulliNB]
        test_discretenb_degenerate_one_class_case[True-False-CategoricalNB]
        test_discretenb_degenerate_one_class_case[True-False-MultinomialNB]
    """,
    "force_alpha=False, which replaces alpha=0 by 1e-10 with a warning": "test_alpha",
    "pseudo_count is one number": "test_alpha_vector",
    "no tag for categories, because text is accepted too": "test_categorical_input_tag[CategoricalNB]",
}
FOREIGN = {
    "ComplementNB is not a model of p(x | C_k), so it has no counterpart": """
        test_discretenb_prior[ComplementNB] test_discretenb_partial_fit[ComplementNB]
        test_NB_partial_fit_no_first_classes[ComplementNB] test_discretenb_uniform_prior[ComplementNB]
        test_discretenb_provide_prior[ComplementNB] test_discretenb_provide_prior_with_partial_fit[ComplementNB]
        test_discretenb_sample_weight_multiclass[ComplementNB] test_discretenb_degenerate_one_class_case[ComplementNB]
        test_cnb test_predict_joint_proba[ComplementNB] test_categorical_input_tag[ComplementNB]
    """,
    "arrays of the array API": "test_gnb_array_api_compliance",
}
SLOW = ""
