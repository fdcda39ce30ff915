"""Where the hooks of one memory and the process that answers them meet: a private folder."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memsense.environment import read_variable, settings_given

SOCKET = "socket"
"""Both sides work in the folder and name it so: a whole path may be too long for a socket."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that only its person may look into."""

    folder: Path

    @property
    def lock(self) -> Path:
        """What the process that answers holds."""
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        """What that process has to say."""
        return self.folder / "log"

    @property
    def queue(self) -> Path:
        """The sessions that wait to be taken in, a file each."""
        return self.folder / "queue"

    def make(self) -> None:
        """Make the folder; raises OSError."""
        self.queue.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)


def place_of(user_id: str, given: Mapping[str, str | None]) -> Place:
    """The place for a user's memory, as the environment names it, and what is given over that."""
    options = {name: value for name, value in given.items() if value is not None}
    settings = dict(settings_given()) | options
    settings.pop("user", None)
    named = json.dumps([user_id, sorted(settings.items())])
    state = read_variable("XDG_STATE_HOME")
    root = Path(state) if state else Path.home() / ".local" / "state"
    return Place(root / "memsense" / "hooks" / hashlib.sha256(named.encode()).hexdigest()[:16])


def build() -> str:
    """What changes with each installation: an older process then makes room for a newer one."""
    here = Path(__file__)
    return f"{here}:{here.stat().st_mtime_ns}"
