"""`relatum` and `python -m relatum`: the command line."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C is quiet from the first moment, while the verbs are imported too."""
    try:
        from relatum.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("relatum: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
