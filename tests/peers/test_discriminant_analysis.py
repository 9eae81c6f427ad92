# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tests of linear and quadratic discriminant analysis."""

from sklearn import discriminant_analysis

import separatrix as sx
from peers.suite import Adapter, peer_tests

SHRINKAGE = {None: 0.0, "auto": "ledoit-wolf"}


def shrinkage(model):
    """Our shrinkage; raises as scikit-learn does for what its default solver does not support."""
    if model.covariance_estimator is not None:
        raise ValueError("separatrix estimates covariances itself")
    if model.solver == "svd" and model.shrinkage is not None:
        raise NotImplementedError
    return SHRINKAGE.get(model.shrinkage, model.shrinkage)


class LinearDiscriminantAnalysis(Adapter, like=discriminant_analysis.LinearDiscriminantAnalysis):
    def build(self, classes):
        return sx.LinearDiscriminantAnalysis(
            shrinkage=shrinkage(self), priors=self.priors, n_components=self.n_components
        )

    def transform(self, X):
        if self.solver == "lsqr":
            raise NotImplementedError
        return self.model_.transform(X)

    def hides(self, name):
        return name == "covariance_" and self.solver == "svd" and not self.store_covariance


class QuadraticDiscriminantAnalysis(Adapter, like=discriminant_analysis.QuadraticDiscriminantAnalysis):
    def build(self, classes):
        return sx.QuadraticDiscriminantAnalysis(shrinkage=self.reg_param or shrinkage(self), priors=self.priors)

    def hides(self, name):
        return name == "covariance_" and not self.store_covariance


ADAPTERS = {
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis,
}
globals().update(peer_tests("sklearn.tests.test_discriminant_analysis", discriminant_analysis=ADAPTERS))

DIFFERENT = {
    "priors that do not sum to 1 are an error, as in scikit-learn's GaussianNB": "test_lda_priors",
    "a covariance_estimator, which no sum over rows replaces": """
        test_lda_shrinkage test_lda_ledoitwolf test_qda_ledoitwolf
    """,
    "eigenvectors of a covariance, rotations_; covariance_ is the matrix itself": "test_qda_coefs",
    "singular covariances give a warning, not an error": "test_qda_regularization",
}
FOREIGN = {"a private function of scikit-learn": "test_covariance"}
SLOW = ""
