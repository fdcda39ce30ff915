"""The shape that every format's reader has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memsense.ingest.head import Head
from memsense.ingest.reading import Reading
from memsense.types import Conversation


def _never(head: Head) -> str | None:  # noqa: ARG001
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format: its name, how it is known, how it is read.

    `sniff` says what in a log's head shows the format, or None. `guess` is asked when every
    `sniff` said no: what lets a log be taken for a conversation, though it may be none. `read`
    yields the conversations in the log's order, counts what it leaves out in the reading's
    report, and raises nothing but `IngestError` whatever the bytes.
    """

    name: str
    sniff: Callable[[Head], str | None]
    read: Callable[[Reading], Iterator[Conversation]]
    guess: Callable[[Head], str | None] = _never
