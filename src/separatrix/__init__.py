# SPDX-License-Identifier: BSD-3-Clause
"""separatrix: linear classification with honest probabilities.

Names are imported on first use, so ``import separatrix`` is fast and loads no other library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from separatrix import basis as basis
    from separatrix import datasets as datasets
    from separatrix import effects as effects
    from separatrix import exceptions as exceptions
    from separatrix import families as families
    from separatrix import geometry as geometry
    from separatrix import likelihoods as likelihoods
    from separatrix import metrics as metrics
    from separatrix import plots as plots
    from separatrix import report as report
    from separatrix import solvers as solvers
    from separatrix import study as study
    from separatrix import thresholds as thresholds
    from separatrix.bayesian import BayesianLogisticRegression as BayesianLogisticRegression
    from separatrix.bayesian import evidence_surface as evidence_surface
    from separatrix.bayesian import laplace_approximation as laplace_approximation
    from separatrix.calibration import Calibrated as Calibrated
    from separatrix.comparison import ModelAverage as ModelAverage
    from separatrix.comparison import compare as compare
    from separatrix.decisions import DecisionRule as DecisionRule
    from separatrix.decisions import decide as decide
    from separatrix.discriminative import GeneralizedLinearModel as GeneralizedLinearModel
    from separatrix.discriminative import LabelNoiseLogisticRegression as LabelNoiseLogisticRegression
    from separatrix.discriminative import LogisticRegression as LogisticRegression
    from separatrix.discriminative import ProbitRegression as ProbitRegression
    from separatrix.discriminative import regularization_path as regularization_path
    from separatrix.export import load as load
    from separatrix.export import save as save
    from separatrix.export import to_onnx as to_onnx
    from separatrix.files import scan as scan
    from separatrix.generative import ExponentialFamilyClassifier as ExponentialFamilyClassifier
    from separatrix.generative import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from separatrix.generative import NaiveBayes as NaiveBayes
    from separatrix.generative import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from separatrix.geometry import is_separable as is_separable
    from separatrix.priors import ElasticNet as ElasticNet
    from separatrix.priors import Flat as Flat
    from separatrix.priors import Gaussian as Gaussian
    from separatrix.reductions import OneVsOne as OneVsOne
    from separatrix.reductions import OneVsRest as OneVsRest
    from separatrix.rules import FisherDiscriminant as FisherDiscriminant
    from separatrix.rules import LeastSquaresClassifier as LeastSquaresClassifier
    from separatrix.rules import Perceptron as Perceptron
    from separatrix.table_model import TableClassifier as TableClassifier
    from separatrix.weights import summary_table as summary_table

__version__ = "0.2.0"

# The public names and their modules; the imports above repeat them for type checkers.
_HOME = {
    "LeastSquaresClassifier": "rules",
    "FisherDiscriminant": "rules",
    "Perceptron": "rules",
    "LinearDiscriminantAnalysis": "generative",
    "QuadraticDiscriminantAnalysis": "generative",
    "NaiveBayes": "generative",
    "ExponentialFamilyClassifier": "generative",
    "LogisticRegression": "discriminative",
    "ProbitRegression": "discriminative",
    "LabelNoiseLogisticRegression": "discriminative",
    "GeneralizedLinearModel": "discriminative",
    "regularization_path": "discriminative",
    "BayesianLogisticRegression": "bayesian",
    "laplace_approximation": "bayesian",
    "evidence_surface": "bayesian",
    "Gaussian": "priors",
    "Flat": "priors",
    "ElasticNet": "priors",
    "OneVsRest": "reductions",
    "OneVsOne": "reductions",
    "DecisionRule": "decisions",
    "Calibrated": "calibration",
    "decide": "decisions",
    "is_separable": "geometry",
    "compare": "comparison",
    "ModelAverage": "comparison",
    "TableClassifier": "table_model",
    "summary_table": "weights",
    "scan": "files",
    "save": "export",
    "load": "export",
    "to_onnx": "export",
}
_MODULES = (
    "basis", "datasets", "effects", "exceptions", "families", "geometry", "likelihoods", "metrics", "plots", "report",
    "solvers", "study", "thresholds",
)  # fmt: skip

__all__ = ["__version__", *_HOME, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    module = import_module(f"separatrix.{_HOME.get(name, name)}")
    found = globals()[name] = getattr(module, name) if name in _HOME else module
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
