# SPDX-License-Identifier: BSD-3-Clause
"""What the reference adds to docstrings: shared parameters and results, and links to related pages."""

from __future__ import annotations

import inspect
from typing import Any

ROWS = "Rows: an array, a data frame, an Arrow table, a sparse matrix, a scan, a Dask collection or a tensor."
PARAMETERS = {
    "X": ("table of shape (N, D)", ROWS),
    "y": ("array-like of shape (N,)", "Labels of any type. Not needed if X is a scan with a target."),
    "sample_weight": ("array-like of shape (N,)", "Weights of the rows: a row of weight k counts as k rows."),
    "classes": ("array-like of shape (K,)", "All labels that occur in any batch; needed by the first call only."),
    "label": ("label", "Label of the class that is added."),
    "other": ("model of the same type", "A model that was fitted to other rows, with the same columns and parameters."),
    "level": ("float", "Probability that an interval contains the true value, or a set the true class."),
    "groups": ("array-like of shape (N,)", "Group of each row; rows of a group are in the same fold."),
    "offset": (
        "array-like of shape (N,)",
        "Numbers that are added to the activations, such as logarithms of exposures.",
    ),
    "input_features": ("None", "Ignored; scikit-learn passes it."),
    "reference": ("label", "Class with which the other classes are compared; by default the mean of the classes."),
    "n": ("int", "Number of draws."),
    "P": ("array-like of shape (N, K)", "Predicted probabilities, with one column for each class."),
    "codes": ("array-like of shape (N,)", "Column of P of the true class of each row."),
    "weight": ("array-like of shape (N,)", "Weights of the rows: a row of weight k counts as k rows."),
    "n_bins": ("int", "Number of bins, which have equal weight."),
    "path": ("str or path", "Name of the file."),
    "params": ("values by name", "Parameters of the model, or of a part of it as in ``prior__scale``."),
}
RETURNS = {
    "fit": ("self", "The fitted model."),
    "partial_fit": ("self", "The updated model."),
    "set_params": ("self", "The model with these parameters; it is not fitted again."),
    "predict": ("ndarray of shape (N,)", "The predicted labels, or means of a regression."),
    "predict_proba": ("ndarray of shape (N, K)", "The probability of each class, in the order of ``classes_``."),
    "predict_log_proba": ("ndarray of shape (N, K)", "Logarithms of the probabilities, accurate for tiny ones too."),
    "predict_interval": (
        "ndarray of shape (N, 2) or (N, K, 2)",
        "Lower and upper bound of the probability of ``classes_[1]``; of each class if there are more than two.",
    ),
    "decision_function": ("ndarray of shape (N,) or (N, K)", "The activations; one per class if there are several."),
    "score": ("float", "Fraction of rows with the correct label, weighted; R² of a regression."),
    "transform": ("ndarray of shape (N, Q)", "The projected rows."),
    "merge": ("model", "The model that a fit to the rows of both would give."),
    "add_class": ("model", "A model with one class more."),
    "log_density": ("ndarray of shape (N,)", "ln p(x); low for unusual rows."),
    "load": ("model", "The model, as it was saved."),
} | dict.fromkeys(("accuracy", "auc", "brier", "ece", "log_likelihood"), ("Estimate", "Value and standard error."))

# The page that explains each name, and names that do a similar task.
RELATED = {
    "LeastSquaresClassifier": ("least_squares", ["FisherDiscriminant", "LogisticRegression"]),
    "FisherDiscriminant": ("fisher", ["LinearDiscriminantAnalysis", "LeastSquaresClassifier"]),
    "Perceptron": ("perceptron", ["LogisticRegression", "is_separable"]),
    "LinearDiscriminantAnalysis": ("normal_classes", ["QuadraticDiscriminantAnalysis", "LogisticRegression"]),
    "QuadraticDiscriminantAnalysis": ("normal_classes", ["LinearDiscriminantAnalysis", "NaiveBayes"]),
    "NaiveBayes": ("naive_bayes", ["ExponentialFamilyClassifier", "TableClassifier"]),
    "ExponentialFamilyClassifier": ("families", ["NaiveBayes", "LinearDiscriminantAnalysis"]),
    "LogisticRegression": ("newton", ["BayesianLogisticRegression", "GeneralizedLinearModel", "regularization_path"]),
    "ProbitRegression": ("sigmoid", ["LogisticRegression", "LabelNoiseLogisticRegression"]),
    "LabelNoiseLogisticRegression": ("discriminative", ["LogisticRegression"]),
    "GeneralizedLinearModel": ("glm", ["LogisticRegression", "BayesianLogisticRegression"]),
    "BayesianLogisticRegression": ("laplace", ["LogisticRegression", "TableClassifier", "evidence_surface"]),
    "laplace_approximation": ("laplace", ["BayesianLogisticRegression"]),
    "evidence_surface": ("laplace", ["tune_model", "BayesianLogisticRegression"]),
    "tune_model": ("bayesian", ["evidence_surface"]),
    "regularization_path": ("discriminative", ["LogisticRegression", "ElasticNet"]),
    "TableClassifier": ("tables", ["BayesianLogisticRegression", "compare"]),
    "DecisionRule": ("decisions", ["decide", "expected_cost", "Calibrated"]),
    "Calibrated": ("calibration", ["DecisionRule"]),
    "OneVsRest": ("decisions", ["OneVsOne", "LogisticRegression"]),
    "OneVsOne": ("decisions", ["OneVsRest", "LogisticRegression"]),
    "compare": ("compare", ["ModelAverage"]),
    "ModelAverage": ("compare", ["compare"]),
    "is_separable": ("geometry", ["Perceptron", "LogisticRegression"]),
}


def add_related(_app: Any, what: str, name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Add a link to the page that explains a class or function, and a section See Also."""
    page, others = RELATED.get(name.rpartition(".")[2], ("", []))
    if what not in ("class", "function") or not page or "See Also" in lines:
        return
    end = lines.index("") if "" in lines else len(lines)
    lines[end:end] = ["", f"Explained in :doc:`/{page}`."]
    lines += ["", "See Also", "--------", *(f"separatrix.{other}" for other in others)]


def add_shared_parameters(_app: Any, what: str, name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Complete the docstring of a method or function if the table has all of its parameters."""
    if what not in ("method", "function") or "Parameters" in lines or "Returns" in lines:
        return
    given = [each for each in inspect.signature(value).parameters.values() if each.name not in ("self", "cls")]
    if not given or any(each.name not in PARAMETERS for each in given):
        return
    lines += ["", "Parameters", "----------"]
    for each in given:
        kind, text = PARAMETERS[each.name]
        stars = "**" if each.kind is each.VAR_KEYWORD else ""
        lines += [f"{stars}{each.name} : {kind}{_default(each.default)}", f"    {text}"]
    method = name.rpartition(".")[2]
    if method in RETURNS:
        kind, text = RETURNS[method]
        lines += ["", "Returns", "-------", kind, f"    {text}"]


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    return ", optional" if value is None else f", default {value}"
