# SPDX-License-Identifier: BSD-3-Clause
"""What several sections say of the rows that the model was judged on, worked out once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix import metrics
from separatrix.metrics import Estimate
from separatrix.report.words import counted, label_text, shortened
from separatrix.study import PriorOnly, Study

__all__ = ["FEWEST_TO_JUDGE", "Facts", "colour", "facts_of"]

FEWEST_TO_JUDGE = 10  # rows, below which shares of them say next to nothing
LONGEST = 60  # letters of a label that are shown
N_COLOURS = 8  # of the palette; further classes have them again, dashed


@dataclass(frozen=True)
class Facts:
    """Figures on the rows judged, which were held out as far as ``is_held_out`` knows: True, or None where nobody does.

    ``labels`` are those of the two sides where one of ``n_classes`` classes is of interest, else of all classes.
    ``baseline_loss`` is the log-loss of always saying the shares of the classes, ``baseline_accuracy`` the accuracy of
    always saying ``labels[largest]``. ``n_learnt`` rows are what the model itself has learnt from. ``excess`` is the
    mean probability of the decisions minus the share of right ones: above zero is over-confident.
    """

    n_rows: int
    n_learnt: int | None
    accuracy: Estimate
    log_loss: Estimate
    auc: Estimate
    ece: Estimate
    ece_if_calibrated: float
    baseline_loss: float
    baseline_accuracy: float
    excess: float
    labels: tuple[str, ...]
    largest: int
    n_classes: int
    is_held_out: bool | None
    is_prior_only: bool

    @property
    def gain(self) -> float:
        """Part of the uncertainty about the class that the model removes: 0 as good as the shares, 1 certainty."""
        return 1 - self.log_loss.value / self.baseline_loss

    @property
    def is_calibrated(self) -> bool:
        """Whether the calibration error is within what chance leaves in probabilities that are right."""
        return self.ece.value <= 1.5 * self.ece_if_calibrated or self.ece.value <= 0.005

    @property
    def event(self) -> str:
        """The class whose probability pictures of two classes show: the class of interest, as the study was turned."""
        return self.labels[1]

    @property
    def is_one_of_many(self) -> bool:
        """Whether the two sides are a class of several and all others together."""
        return len(self.labels) < self.n_classes

    @property
    def by_rote(self) -> str:
        """What the baseline of accuracy does."""
        return (
            f"always saying {self.labels[self.largest]}" if self.is_one_of_many else "always saying the largest class"
        )

    @property
    def whose(self) -> str:
        """What to call the rows judged."""
        return "held-out rows" if self.is_held_out else "rows of this table"

    def rows(self, n: int) -> str:
        """So many of them, in words."""
        return counted(n, "held-out row") if self.is_held_out else f"{counted(n, 'row')} of this table"


def facts_of(study: Study) -> Facts:
    """The figures of the rows that the study judged its model on."""
    P, codes = study.held_out.P, study.held_out.codes
    share = study.counts / study.counts.sum()
    loss = metrics.log_likelihood(P, codes)
    hits = metrics.accuracy(P, codes)
    return Facts(
        n_rows=len(codes),
        n_learnt=getattr(study.model, "n_rows_", None),  # unknown of a model that an older version saved
        accuracy=hits,
        log_loss=Estimate(-loss.value, loss.standard_error),
        auc=metrics.auc(P, codes),
        ece=metrics.ece(P, codes),
        ece_if_calibrated=metrics.ece_if_calibrated(P, codes),
        baseline_loss=-float(np.log(share[codes]).mean()),
        baseline_accuracy=float((codes == share.argmax()).mean()),
        excess=float(P.max(axis=1).mean()) - hits.value,
        labels=tuple(shortened(label_text(label), LONGEST) for label in study.classes),
        largest=int(share.argmax()),
        n_classes=len(study.model.classes_),
        is_held_out=study.is_held_out,
        is_prior_only=isinstance(study.model.estimator_, PriorOnly),
    )


def colour(k: int, n_classes: int) -> str:
    """Classes of the style sheet for the k-th class: one of eight colours, and a dash for each time they run out.

    Of two classes, the one whose probability is drawn has the first colour.
    """
    k = 1 - k if n_classes == 2 else k
    return f"k{k % N_COLOURS}" + (f" dash{min(k // N_COLOURS, 2)}" if k >= N_COLOURS else "")
