"""The command line: the only part of memsense that prints."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    # A coding agent waits for its hook before each prompt: `hook` is tried without importing Typer.
    if "hook" in sys.argv:
        from memsense.cli.quick import answer, read_call, serve

        call = read_call(sys.argv[1:])
        if call is not None:
            (serve if call.is_daemon else answer)(call)
            return
    from memsense.cli.app import main as run

    run()
