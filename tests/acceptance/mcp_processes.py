"""Processes of `memsense mcp`, for the tests that call them."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mcp import StdioServerParameters

COMMAND = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()", "mcp"]
PATIENCE = 120


FIRST_SDK = Path(sys.prefix) / "share" / "mcp-1"
"""The first generation of the SDK, which `make setup-dev` installs beside the second."""


def environment(url: str, *, first_sdk: bool = False) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSENSE_")}
    if first_sdk:
        kept["PYTHONPATH"] = str(FIRST_SDK)
    return {**kept, "MEMSENSE_DATABASE_URL": url, "MEMSENSE_POOL_MAX_SIZE": "3"}


def stdio(url: str, *options: str, first_sdk: bool = False) -> StdioServerParameters:
    command, *arguments = [*COMMAND, "--user", "ada", *options]
    variables = environment(url, first_sdk=first_sdk)
    return StdioServerParameters(command=command, args=arguments, env=variables)


@contextmanager
def started(url: str, *options: str, first_sdk: bool = False) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, "--user", "ada", *options],
        env=environment(url, first_sdk=first_sdk),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def http_server(url: str, *options: str, first_sdk: bool = False) -> Generator[str]:
    """The address of a server on HTTP, which answers once this says it."""
    with started(url, "--http", "--port", "0", *options, first_sdk=first_sdk) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("memsense: serving the memory of 'ada' at http://127.0.0.1:"), line
        yield line.split(" at ")[1].partition(";")[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
