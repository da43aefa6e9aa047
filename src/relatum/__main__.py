"""`relatum` and `python -m relatum`: the command line."""

import signal
import sys
from pathlib import Path

from relatum.errors import shortage


def main() -> None:
    """Run the command line; Ctrl-C is quiet, and too little memory one line, while the verbs are imported too."""
    try:
        Path.cwd()
    except FileNotFoundError:  # in which libraries would end the process
        sys.stderr.write("relatum: the folder that it was started in is gone; go to another\n")
        sys.exit(2)
    try:
        from relatum.cli import main as run

        run()
    except KeyboardInterrupt:
        _let_ctrl_c_end()
        sys.stderr.write("relatum: interrupted\n")
        sys.exit(130)
    except (ImportError, OSError, MemoryError) as error:
        if (message := shortage(error)) is None:
            raise
        sys.stderr.write(f"relatum: {message}\n")
        sys.exit(2)
    finally:
        _let_ctrl_c_end()


def _let_ctrl_c_end() -> None:
    """Have another Ctrl-C end the process at once: all is done but tidying up, in which Python would print tracebacks."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and is not ignored, as under nohup
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
