"""The settings of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relatum.settings import Checked, require, setting

ROWS = ("facts", "questions")
OBJECTIVES = ("1vsAll", "KvsAll")
NEGATIVE_SAMPLING = ("shared", "per-fact", "all-entities")
SCHEDULES = ("constant", "linear", "cosine")
VALIDATION_METRICS = ("mrr", "corrected-mrr")
STORAGES = ("float32", "bfloat16")


@dataclass(frozen=True)
class TrainingSettings(Checked, path="training"):
    """Settings of training; `relatum.settings.rules_of` returns what each means and which values it takes."""

    epochs: int = setting(50, "how often every row is seen, at most", ge=1)
    rows: str = setting(
        "facts",
        "what is a row of a batch. `questions`: a fact with one position left open, together with all its known answers, so"
        " that what many facts ask is asked once; `facts`: a fact, with one question per position and its own entity as the"
        " answer. Both have the same loss",
        choices=ROWS,
    )
    objective: str = setting(
        "1vsAll",
        "what is asked of a question's answers. `1vsAll`: each alone above all that are no answers; `KvsAll`: all of them as"
        " targets of one softmax over all candidates. `KvsAll` is for `questions`",
        choices=OBJECTIVES,
    )
    answer_damping: float = setting(
        0.0, "a question with n answers weighs n ** (1 - this): 0 counts answers, 1 questions. For `questions`", ge=0, le=1
    )
    batch_size: int = setting(
        64, "facts per batch, with rows of questions their answers; with `shared` negatives, all of one relation", ge=1
    )
    batches_per_step: int = setting(
        4,
        "batches that share a step: their gradients are taken side by side at the same parameters, and applied one after the"
        " other",
        ge=1,
    )
    negative_sampling: str = setting(
        "shared",
        "what a fact is compared with. `shared`: one pool of sampled entities for all facts of a step, and a softmax per"
        " position; `all-entities`: every entity; `per-fact`: replacements drawn for each fact and position, and one softmax"
        " over the fact and all of them (Eq. 3 of the paper)",
        choices=NEGATIVE_SAMPLING,
    )
    num_negatives: int = setting(1000, "the size of the shared pool, or the replacements per fact and position", ge=1)
    in_relation_share: float = setting(
        0.0, "the share of a shared pool that is drawn from the entities that the relation is known with", ge=0, le=1
    )
    label_smoothing: float = setting(0.0, "the share of the target that is spread over all candidates", ge=0, lt=1)
    learning_rate: float = setting(0.5, "the learning rate", gt=0)
    learning_rate_schedule: str = setting(
        "constant",
        "how the learning rate falls to a tenth of itself: not at all, `linear` or `cosine`",
        choices=SCHEDULES,
    )
    weight_decay: float = setting(0.0, "added to the gradient, times the parameter, in rows that have a gradient", ge=0)
    ema_decay: float = setting(
        0.0,
        "what is validated and kept is an exponential moving average of the parameters over epochs, in which the average so"
        " far has this weight and the latest parameters the rest; 0 takes the latest alone",
        ge=0,
        lt=1,
    )
    validate_every: int = setting(5, "epochs between validations", ge=1)
    validation_metric: str = setting(
        "mrr",
        "by what validation chooses. `mrr`: filtered by train and valid; `corrected-mrr`: the same, but as many better"
        " candidates are forgiven as other valid answers stand above, since about as many are answers that nobody knows yet",
        choices=VALIDATION_METRICS,
    )
    patience: int = setting(0, "training ends after so many validations without a better one; 0 never ends early", ge=0)

    entity_storage: str = setting(
        "float32",
        "how embeddings of entities are kept in the saved model; `bfloat16` halves it, and what is validated, calibrated and"
        " kept is rounded to that. Training itself goes on in float32",
        choices=STORAGES,
    )

    minutes: float | None = setting(
        None,
        "take no longer than so many minutes for all of a run: reading, training, calibration and saving; what the learning"
        " rate does over the epochs it then does over the time of training. The clock decides when to end, so the same seed"
        " gives the same bits only with `epochs`",
        gt=0,
    )
    refit: bool = setting(
        False,
        "once validation has chosen the number of epochs, train anew for as many on train and valid facts together: what is"
        " kept has seen the valid facts, so only test facts tell how good it is",
    )

    evidence: bool = setting(
        False,
        "after training, find soft rules in the training facts, and weigh what they say beside the model's scores, as"
        " validation questions teach; `evaluate` then tells of both",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows == "facts":
            require(self.objective == "1vsAll", "training.objective", "KvsAll needs training.rows = questions")
            require(self.answer_damping == 0, "training.answer_damping", "needs training.rows = questions")
            return
        found = self.negative_sampling
        require(found != "per-fact", "training.negative_sampling", f"{found} needs training.rows = facts")


def needs_facts(settings: Mapping[str, Any]) -> bool:
    """Return whether one of some settings of training can only be with facts as rows."""
    return settings.get("negative_sampling") == "per-fact"
