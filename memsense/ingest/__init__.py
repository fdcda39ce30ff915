"""Readers of conversation logs: any known format becomes conversations and exchanges.

Reading needs no database and no embedding. `read_source` streams a log's conversations and counts
in a `ReadReport` everything it leaves out; `pair_exchanges` makes exchanges, the unit of memory.

    report = ReadReport()
    for source in expand_paths(["exports/"]):
        for conversation in read_source(source, ReadOptions(), report):
            exchanges = pair_exchanges(conversation)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsense.ingest.detection import Detection, detect
    from memsense.ingest.options import DateOrder, ReadOptions
    from memsense.ingest.pairing import joined_text, message_hash, message_key, pair_exchanges
    from memsense.ingest.places import find_places
    from memsense.ingest.readers import READERS
    from memsense.ingest.reading import Reader
    from memsense.ingest.report import ReadReport, Tally
    from memsense.ingest.source import Source
    from memsense.ingest.sources import expand_paths
    from memsense.ingest.streaming import read_source
    from memsense.ingest.timestamps import Stamp, parse_timestamp

_MODULES = {
    "detection": "Detection detect",
    "pairing": "joined_text message_hash message_key pair_exchanges",
    "options": "DateOrder ReadOptions",
    "places": "find_places",
    "reading": "Reader",
    "readers": "READERS",
    "report": "ReadReport Tally",
    "source": "Source",
    "sources": "expand_paths",
    "streaming": "read_source",
    "timestamps": "Stamp parse_timestamp",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "READERS",
    "DateOrder",
    "Detection",
    "ReadOptions",
    "ReadReport",
    "Reader",
    "Source",
    "Stamp",
    "Tally",
    "detect",
    "expand_paths",
    "find_places",
    "joined_text",
    "message_hash",
    "message_key",
    "pair_exchanges",
    "parse_timestamp",
    "read_source",
]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    # A search needs none of the readers, and should not wait for 40 imports.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
