"""The command line within the test's own process: the same `main`, without a second for imports.

`tests/acceptance/test_commands.py` starts processes, where a test needs one.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

from memsense.cli import main

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(
    url: str | None,
    *arguments: str | Path,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
) -> CompletedProcess[str]:
    """Run a command as from a pipe, with no variable of memsense's set but those that are passed.

    An error that isn't memsense's own is raised, where a process would print a traceback.
    """
    excluded = ("MEMSENSE_", "COLUMNS")
    variables = {
        key: val for key, val in os.environ.items() if not key.upper().startswith(excluded)
    }
    # Tests see one model, whatever is installed.
    variables |= {"NO_COLOR": "1", "MEMSENSE_MULTILINGUAL": "off"}
    variables |= {**({"MEMSENSE_DATABASE_URL": url} if url else {}), **(env or {})}
    command = ["memsense", *map(str, arguments)]
    source, output, errors = (_open_stream() for _ in range(3))
    source.buffer.write(stdin.encode())
    source.seek(0)
    handlers = {number: signal.getsignal(number) for number in _HANDLED}
    with (
        mock.patch.multiple(sys, argv=command, stdin=source, stdout=output, stderr=errors),
        mock.patch.dict(os.environ, variables, clear=True),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            # A command changes how signals end it, and this process goes on.
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return CompletedProcess(command, code, _read(output), _read(errors))


def _open_stream() -> "TextIOWrapper[BytesIO]":
    """Return a stream in memory that, unlike StringIO, has bytes beneath, as those of a process."""
    return TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True)


def _read(stream: "TextIOWrapper[BytesIO]") -> str:
    """Return everything that was written."""
    stream.seek(0)
    return stream.buffer.read().decode()


def run_json(url: str | None, *arguments: str | Path, code: int = 0, stdin: str = "") -> Any:
    """Run a command with `--json` and return what it prints, once its exit code is as given."""
    done = run(url, *arguments, "--json", stdin=stdin)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def assert_one_line(done: CompletedProcess[str], code: int) -> None:
    """Assert that a command has ended with that exit code and one line that says why."""
    assert done.returncode == code
    assert done.stderr.startswith("memsense: ")
    assert len(done.stderr.splitlines()) == 1
