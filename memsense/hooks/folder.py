"""A private folder through which the hooks of one memory and their daemon communicate."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memsense.environment import read_setting_variables, read_variable

# A relative name: the path of a Unix socket is limited to about 100 bytes, which a home directory
# may exceed. So both sides change into the folder first.
SOCKET = "socket"

OPENING = b'{"is_opening": true}\n'
"""Line that the daemon sends before its answer while it opens the memory: the hook then waits."""


class HookFolder(NamedTuple):
    """A folder that only its owner may read."""

    path: Path

    @property
    def lock(self) -> Path:
        """The file that the running daemon holds locked."""
        return self.path / "lock"

    @property
    def log(self) -> Path:
        """The daemon's log."""
        return self.path / "log"

    @property
    def queue(self) -> Path:
        """The folder of sessions that wait for ingestion, one file each."""
        return self.path / "queue"

    def create(self) -> None:
        """Create the folder if it is missing; raises OSError."""
        self.queue.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkdir applies its mode only to the innermost folder; prompts and logs are private.
        self.path.chmod(0o700)


def hook_folder(user_id: str, options: Mapping[str, str | None]) -> HookFolder:
    """Return the folder for one user's memory.

    Its name is a hash of the user and of the settings that choose the memory: those of the
    environment, overridden by `options`. So each database, tenant and namespace has its own daemon.
    """
    overrides = {name: value for name, value in options.items() if value is not None}
    settings = dict(read_setting_variables()) | overrides
    settings.pop("user", None)
    identity = json.dumps([user_id, sorted(settings.items())])
    state = read_variable("XDG_STATE_HOME")
    root = Path(state) if state else Path.home() / ".local" / "state"
    name = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return HookFolder(root / "memsense" / "hooks" / name)


def build_id() -> str:
    """Return a text that changes with each installation of the package.

    A daemon that was started by an older installation ends when it sees another one.
    """
    module = Path(__file__)
    return f"{module}:{module.stat().st_mtime_ns}"
