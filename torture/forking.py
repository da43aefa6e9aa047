"""`python -m torture.forking`: a process with everything imported that forks one child for each command.

To start Python, torch and compiled kernels takes seconds, a fork milliseconds. Requests are lines of JSON on standard
input, answers lines of JSON on standard output, in order:

- `{"run": {...}}` starts a command as `torture.commands.Command` says, and answers with the number of its process;
- `{"here": {...}}` runs it in this process, which keeps the kernels and modules that it has loaded;
- `{"wait": PROCESS, "seconds": S}` answers with its exit code, -9 if it was killed, or null if it is still running.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from typing import Any, NoReturn

PAUSE = 0.002  # seconds between two looks at a process


def serve() -> dict[str, Any] | None:
    """Answer requests until there are no more and return None; in a forked child, return the command to run."""
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    for line in iter(requests.readline, ""):
        request = json.loads(line)
        if "run" in request:
            gc.freeze()  # what is there already: the child need not look through it, nor copy its pages
            child = os.fork()
            if child == 0:
                requests.close()
                answers.close()
                return dict(request["run"])
            answer: object = child
        elif "here" in request:
            answer = _run_here(request["here"])
        else:
            answer = _wait(request["wait"], request["seconds"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return None


def become(command: dict[str, Any]) -> None:
    """Make this process that of a command: its folder, variables, streams, limits and the fault that strikes it."""
    os.setpgid(0, 0)
    _surround(command)
    for limit, value in command["limits"].items():
        import resource

        number = getattr(resource, limit)
        resource.setrlimit(number, (value, resource.getrlimit(number)[1]))
    if command["torture"]:
        ctypes.CDLL(None).torture_arm(command["torture"].encode())


def _surround(command: dict[str, Any]) -> None:
    for number, name in enumerate((os.devnull, command["out"], command["err"])):
        opened = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(command["folder"])
    os.environ.update(command["environment"])
    tempfile.tempdir = None
    sys.argv = ["relatum", *command["arguments"]]
    from relatum import files, progress

    files._swept.clear()  # what this process has looked at is not what a new one has
    progress._announced.clear()


def end(code: int) -> NoReturn:
    """End as any process does, but for tearing down all modules, which would take longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    os._exit(code)


def _run_here(command: dict[str, Any]) -> int:
    streams, before = [os.dup(number) for number in range(3)], dict(os.environ)
    _surround(command)
    code = _run_to_code()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(before)
    if threading.active_count() > 1:
        raise RuntimeError(f"relatum {' '.join(command['arguments'])} leaves threads, which no forked child would have")
    return code


def _wait(process: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            return None
        time.sleep(PAUSE)


def _run_to_code() -> int:
    from relatum.__main__ import main

    try:
        main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    import relatum.cli  # noqa: F401

    command = serve()
    if command is not None:
        become(command)
        end(_run_to_code())
