"""How a command ends that several workers carry out: an error is shown once, with the worker that had it."""

from __future__ import annotations

from relatum.workers.environment import is_first_worker

__all__ = ["leave_group", "worker_message"]


def worker_message(message: str, error: Exception) -> str | None:
    """Return what a worker writes of an error; None where another one has written it, or what led to it."""
    from relatum.workers.group import current_group
    from relatum.workers.meeting import WorkerError

    group = current_group()
    if group is None:
        return message if is_first_worker() or isinstance(error, WorkerError) else None
    if (isinstance(error, WorkerError) and error.reported) or not group.may_report():
        return None
    return f"{group.names[group.number]}: {message}" if isinstance(error, OSError) else message


def leave_group() -> None:
    """Leave the group, if this process had joined one."""
    from relatum.workers.group import current_group

    group = current_group()
    if group is not None:
        group.close()
