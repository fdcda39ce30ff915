"""PostgreSQL-native retrieval engine for agent memory, which explains every score."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memsense.errors import MemSenseError

if TYPE_CHECKING:
    from memsense.actor import acting_as
    from memsense.client.aio import AsyncMemSense
    from memsense.client.memory import MemSense
    from memsense.config import Settings, load_settings
    from memsense.integrations.clients import off_the_record, remember
    from memsense.search.explanation import Explanation
    from memsense.search.hits import Hit, Neighbor, SearchResult, Supersession
    from memsense.search.profiles import PROFILES, Profile
    from memsense.types import Chunk, Event

    __version__: str

_HOMES = {
    "AsyncMemSense": "memsense.client.aio",
    "MemSense": "memsense.client.memory",
    "Settings": "memsense.config",
    "load_settings": "memsense.config",
    "off_the_record": "memsense.integrations.clients",
    "remember": "memsense.integrations.clients",
    "Explanation": "memsense.search.explanation",
    "Hit": "memsense.search.hits",
    "Neighbor": "memsense.search.hits",
    "SearchResult": "memsense.search.hits",
    "Supersession": "memsense.search.hits",
    "PROFILES": "memsense.search.profiles",
    "Profile": "memsense.search.profiles",
    "Chunk": "memsense.types",
    "Event": "memsense.types",
    "acting_as": "memsense.actor",
}

__all__ = [
    "PROFILES",
    "AsyncMemSense",
    "Chunk",
    "Event",
    "Explanation",
    "Hit",
    "MemSense",
    "MemSenseError",
    "Neighbor",
    "Profile",
    "SearchResult",
    "Settings",
    "Supersession",
    "acting_as",
    "load_settings",
    "off_the_record",
    "remember",
]


def _read_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("memsense")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0.0.0"


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that `memsense --help` stays quick."""
    if name == "__version__":
        return _read_version()
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'memsense' has no attribute {name!r}")
