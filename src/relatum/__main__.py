"""`python -m relatum`: the command line."""

from relatum.cli import main

main()
