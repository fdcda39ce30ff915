"""Aider's chat history: Markdown of many sessions, with prompts behind `####`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.types import Conversation, Role

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_PROMPT = "####"
_NOTICE = ">"


@dataclass(slots=True)
class _Turn:
    """The lines of one side so far, and where they began."""

    role: Role = "assistant"
    line: int = 1
    texts: list[str] = field(default_factory=list[str])


def _sniff(head: Head) -> str | None:
    found = any(_START.fullmatch(line) for line in head.lines)
    return "lines that say when an aider chat started" if found else None


def _read(reading: Reading) -> Iterator[Conversation]:
    builder, started, turn = reading.conversation(), "", _Turn()
    for number, raw in enumerate(reading.lines(), 1):
        line = raw.rstrip("\r\n")
        if match := _START.fullmatch(line):
            yield from _close(builder, turn, started)
            builder, started, turn = reading.conversation(), match[1], _Turn(line=number)
        elif line.startswith(_NOTICE):
            reading.skip("notice of the program", number)
        else:
            turn = _take(builder, turn, line, number)
    yield from _close(builder, turn, started)


def _take(builder: ConversationBuilder, turn: _Turn, line: str, number: int) -> _Turn:
    """The turn with the line, or the next one where the other side begins."""
    is_prompt = line.startswith(_PROMPT)
    if line.strip() and is_prompt != (turn.role == "user"):
        _add(builder, turn)
        turn = _Turn("user" if is_prompt else "assistant", number)
    turn.texts.append(line.removeprefix(_PROMPT).removeprefix(" ") if is_prompt else line)
    return turn


def _add(builder: ConversationBuilder, turn: _Turn) -> None:
    text = "\n".join(turn.texts).strip()
    if text:
        builder.reading.report.records += 1
        builder.add(turn.role, text, line=turn.line)


def _close(builder: ConversationBuilder, turn: _Turn, started: str) -> Iterator[Conversation]:
    _add(builder, turn)
    if not builder.messages:
        return
    place = builder.reading.source.session_id
    session = f"{place}/{started.replace(' ', 'T')}" if started else place
    yield from builder.build(session, started_at=builder.reading.stamp(started).at)


READER = Reader(name="aider", sniff=_sniff, read=_read)
