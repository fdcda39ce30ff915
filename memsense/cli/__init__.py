"""The command line: the only part of memsense that prints."""

from memsense.cli.app import main

__all__ = ["main"]
