"""A log to read, wherever it is: a file, a member of an archive, stdin, a Slack export."""

import hashlib
import json
import lzma
import os
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal
from urllib.parse import unquote, urlsplit

from memsense.ingest.values import mapping, string
from memsense.types import JsonValue

# The errors of reading a source's bytes: of the file system, damaged archives and databases.
UNREADABLE: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    RuntimeError,  # an encrypted member, and NotImplementedError for a compression
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    sqlite3.Error,
)

_LONGEST_PLACE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One log to read: a file, a member of an archive, stdin, a database, or a Slack export.

    `label` names it for people and in `Conversation.source`. `named` is true if the caller gave
    its path: then a log that no reader knows is an error, whereas a file found in a folder may
    simply be something else. `opener` opens the bytes from the beginning. `members` are the files
    of a Slack export, or of opencode's storage. `place` is the path below the root that the caller
    gave, with at least one folder, so that `a/chat.txt` and `b/chat.txt` stay apart.
    """

    label: str
    name: str
    opener: Callable[[], AbstractContextManager[BinaryIO]] = field(repr=False, compare=False)
    kind: Literal["file", "member", "stdin", "slack", "opencode", "database"] = "file"
    path: Path | None = None
    size: int | None = None
    named: bool = True
    members: Sequence["Source"] = ()
    place: str = ""

    @property
    def session_id(self) -> str:
        """The id of a session whose log has none of its own: the log's place, else its name."""
        return self.place or place_of(self.name)


def place_of(name: str) -> str:
    """Return a path without its suffix, as a session's id; a long one as its hash and its end."""
    path = PurePosixPath(name)
    place = str(path.with_name(path.stem)) if path.stem else name
    # Bytes of a file name that are not UTF-8 come as lone surrogates, which PostgreSQL refuses:
    # they are written as `\xff`.
    place = place.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if len(place) <= _LONGEST_PLACE:
        return place
    return f"{hashlib.sha256(place.encode()).hexdigest()[:16]}/{place[-100:]}"


_DESCRIPTION = "workspace.json"
_DEPTH = 2  # a chat lies in the workspace's own folder, or in a folder of that


def find_workspace(source: Source) -> str | None:
    """Return the folder that the workspace of a log has open, or None if nothing says it.

    Such editors keep the logs of a workspace in a folder with a file `workspace.json`, which names
    the open folder by its address. A folder of another machine, as over SSH, has its path there.
    """
    if source.path is None:
        return None
    for parent in source.path.absolute().parents[:_DEPTH]:
        try:
            description: JsonValue = json.loads((parent / _DESCRIPTION).read_bytes())
            path = unquote(urlsplit(string(mapping(description).get("folder"))).path)
        except (OSError, ValueError, RecursionError):
            continue
        # Windows: file:///c%3A/Users/ada/looms
        is_windows = path[2:3] == ":"
        if not path:
            return None
        return path[1:].replace("/", "\\") if is_windows else os.path.normpath(path)
    return None
