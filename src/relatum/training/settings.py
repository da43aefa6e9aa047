"""What training can be told."""

from __future__ import annotations

import math
from dataclasses import dataclass

from relatum.errors import SettingError

__all__ = ["CANDIDATES", "LOSSES", "OPTIMIZERS", "SCHEDULES", "TrainingSettings"]

CANDIDATES = ("shared", "per-position", "all")
LOSSES = ("softmax", "margin", "softplus")
OPTIMIZERS = ("adagrad", "adam")
SCHEDULES = ("constant", "linear", "cosine")


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of training.

    Attributes:
        epochs: how often every fact is seen, at most.
        batch: how many facts a group has; with shared candidates, all of one relation.
        groups: how many groups share a step: their gradients are taken side by side at the same parameters, and applied
            one after the other.
        candidates: what a fact is compared with. `shared`: one pool of sampled entities for all facts of a step, and a
            softmax per position; `all`: every entity; `per-position`: replacements drawn for each fact and position, and one
            softmax over the fact and all of them (Eq. 3 of the paper).
        negatives: the size of the pool, or the replacements per position.
        near: the share of a shared pool that is drawn from the entities that the relation is known with, and not from all.
        mask_true: leave known training facts out of what a fact is compared with; not with `per-position`, as in the paper.
        loss: `softmax` cross-entropy (Eq. 3), `margin` (m-TransH, RAE) or `softplus` (NaLP).
        margin: the margin of that loss.
        label_smoothing: the share of the target that is spread over all candidates.
        binary: the weight of a binary cross-entropy that is added: true facts should score above the model's midpoint, and
            what they are compared with below it, whatever the relation. It makes scores of different relations comparable.
        optimizer: `adagrad` or `adam`; both touch only the rows that a step has used.
        rate: the learning rate.
        schedule: how the rate falls to `rate_end` times itself: `constant` (it does not), `linear` or `cosine`.
        rate_end: see `schedule`.
        weight_decay: what is added to the gradient, times the parameter.
        average: what is validated and kept is a running mean of the parameters over epochs, in which the mean so far has
            this weight and the latest parameters the rest; 0 takes the latest alone.
        validate_every: validation comes after so many epochs.
        patience: training ends after so many validations without a better one; 0 never ends early.
    """

    epochs: int = 50
    batch: int = 64
    groups: int = 4
    candidates: str = "shared"
    negatives: int = 1000
    near: float = 0.0
    mask_true: bool = True
    loss: str = "softmax"
    margin: float = 1.0
    label_smoothing: float = 0.0
    binary: float = 0.0
    optimizer: str = "adagrad"
    rate: float = 0.5
    schedule: str = "constant"
    rate_end: float = 0.1
    weight_decay: float = 0.0
    average: float = 0.0
    validate_every: int = 5
    patience: int = 0

    def __post_init__(self) -> None:
        for name, choices in (
            ("candidates", CANDIDATES),
            ("loss", LOSSES),
            ("optimizer", OPTIMIZERS),
            ("schedule", SCHEDULES),
        ):
            if getattr(self, name) not in choices:
                raise SettingError(f"training.{name}: must be one of {', '.join(choices)}")
        for name in ("epochs", "batch", "groups", "negatives", "validate_every"):
            if getattr(self, name) < 1:
                raise SettingError(f"training.{name}: must be at least 1")
        for name in ("weight_decay", "patience", "rate_end", "margin", "binary"):
            if getattr(self, name) < 0:
                raise SettingError(f"training.{name}: must not be negative")
        if not self.rate > 0:
            raise SettingError("training.rate: must be above 0")
        if not 0 <= self.near <= 1:
            raise SettingError("training.near: must be at least 0 and at most 1")
        for name in ("label_smoothing", "average"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingError(f"training.{name}: must be at least 0 and below 1")
        for name in ("weight_decay", "rate_end", "margin", "rate", "binary"):
            if not math.isfinite(getattr(self, name)):
                raise SettingError(f"training.{name}: must be a finite number")
