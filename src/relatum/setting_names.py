"""Names of settings: the words of other libraries that point to ours, and what an unknown name may mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relatum.errors import SettingError, nearest_names

# What other libraries call it, and what it is, or may be, called here.
_CALLED = (
    ("lr rate alpha step_size eta", "learning_rate"),
    ("lr_schedule lr_scheduler scheduler schedule", "learning_rate_schedule"),
    ("n_epochs num_epochs max_epochs iterations num_iterations", "epochs"),
    ("bs batch batchsize train_batch_size minibatch", "batch_size"),
    ("accumulate gradient_accumulation accumulate_grad_batches", "batches_per_step"),
    ("negatives neg_samples num_negs nneg n_neg negative_ratio neg_ratio num_neg_samples num_negs_per_pos", "num_negatives"),
    ("sampler negative_sampler neg_sampling", "negative_sampling"),
    ("ema polyak", "ema_decay"),
    ("l2 regularization reg lambda wd decay_rate", "weight_decay"),
    ("smoothing lb_smooth", "label_smoothing"),
    ("early_stopping early_stopping_patience", "patience"),
    ("eval_every valid_steps evaluation_frequency", "validate_every"),
    ("embedding_dim embedding_size emb_dim emb_size hidden_dim hidden_size dimension dims k", "dim"),
    ("dropout drop dropout_rate input_drop", "input_dropout window_dropout hidden_dropout"),
    ("window_size", "window"),
    ("activation nonlinearity", "sigma"),
    ("n_layers", "num_layers"),
    ("random_seed random_state", "seed"),
    ("dataset data_path train_data", "data"),
)
SYNONYMS: Mapping[str, tuple[str, ...]] = {word: tuple(ours.split()) for words, ours in _CALLED for word in words.split()}


def folded(name: str) -> str:
    """Return a model's name without case, hyphens and underscores: HypE and m_distmult are hype and m-distmult."""
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def unknown_setting(place: str, name: str, names: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> SettingError:
    """Return the refusal of an unknown name, with what it may mean among `names`, or in other tables (name: its path)."""
    names, elsewhere = list(names), elsewhere or {}
    word = name.casefold().replace("-", "_")
    words = (word, *SYNONYMS.get(word, ()))
    similar = [other for other in names if other in words] or [path for other, path in elsewhere.items() if other in words]
    similar = similar or list(nearest_names(name, names)) or [elsewhere[other] for other in nearest_names(name, elsewhere)]
    if not similar:  # perhaps a slip in another library's name
        meant = (new for other in nearest_names(name, SYNONYMS) for new in SYNONYMS[other])
        similar = list(dict.fromkeys(new for new in meant if new in names))
    remedy = "" if similar else f"known: {', '.join(names)}"
    return SettingError("unknown-setting", "no such setting", place=place, remedy=remedy, nearest=similar)
