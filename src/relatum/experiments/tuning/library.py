"""Optuna, which is an extra of its own, or one line that says how to install it."""

from __future__ import annotations

from relatum.errors import RelatumError

try:
    import optuna
    from optuna.storages import journal
    from optuna.trial import TrialState
except ImportError:
    raise RelatumError("tuning needs Optuna: pip install 'relatum[tune]'") from None

__all__ = ["TrialState", "journal", "optuna"]

optuna.logging.set_verbosity(optuna.logging.WARNING)  # what there is to say of a trial, relatum says itself
