"""Folders of VS Code's workspaces, and of editors that are made from it."""

import json
import os
from urllib.parse import unquote, urlsplit

from memsense.ingest.source import Source
from memsense.ingest.values import mapping, string
from memsense.types import JsonValue

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
