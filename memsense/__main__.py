"""`python -m memsense`: the command line, where its script is not on the PATH."""

from memsense.cli import main

main()
