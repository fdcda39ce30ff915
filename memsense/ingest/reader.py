"""The shape that every format's reader has: all that a new format must provide."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memsense.ingest.head import Head
from memsense.ingest.reading import Reading
from memsense.types import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format: its name, how it is recognised, how it is read.

    `sniff` returns what in a log's head shows the format, or None. `guess` is asked only after
    every `sniff` has said None: it returns the evidence that the log may be a conversation, though
    nothing proves it. `read` yields the conversations in the log's order, counts in the reading's
    report what it leaves out, and raises nothing but `IngestError`, whatever the bytes are.
    """

    name: str
    sniff: Callable[[Head], str | None]
    read: Callable[[Reading], Iterator[Conversation]]
    guess: Callable[[Head], str | None] = lambda _head: None
