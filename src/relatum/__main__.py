"""`relatum` and `python -m relatum`: the command line."""

import sys

from relatum.shortage import shortage

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C is quiet, and too little memory one line, while the verbs are imported too."""
    try:
        from relatum.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("relatum: interrupted\n")
        sys.exit(130)
    except (ImportError, OSError, MemoryError) as error:
        if (message := shortage(error)) is None:
            raise
        sys.stderr.write(f"relatum: {message}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
