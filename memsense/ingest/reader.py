"""The shape that every format's reader has: all that a new format must provide."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memsense.ingest.head import Head
from memsense.ingest.reading import Reading
from memsense.types import Conversation, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format: its name, how it is recognised, how it is read.

    `sniff` returns what in a log's head shows the format, or None. `guess` is asked only after
    every `sniff` has said None: it returns the evidence that the log may be a conversation, though
    nothing proves it. `read` yields the conversations in the log's order, counts in the reading's
    report what it leaves out, and raises nothing but `IngestError` for any bytes.
    `sniff_tables` is asked about an SQLite database, with the columns of each table. `describe`
    returns a line about the format, `origin` says whose it is, for `memsense formats`. `records`
    yields what a reader reads of a database, each with the number that its reasons name; None where
    these are the lines of the source itself.
    """

    name: str
    sniff: Callable[[Head], str | None]
    read: Callable[[Reading], Iterator[Conversation]]
    guess: Callable[[Head], str | None] = lambda _head: None
    sniff_tables: Callable[[Mapping[str, frozenset[str]]], str | None] = lambda _columns: None
    describe: Callable[[], str] = lambda: ""
    records: Callable[[Reading], Iterator[tuple[int, JsonValue]]] | None = None
    places: Callable[[], Sequence[str]] = tuple
    origin: str = "memsense"
