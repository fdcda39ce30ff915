"""Reader of plain transcripts: `Name: text`, headings, bold labels, VTT cues, `>` prompts."""

import re
from collections.abc import Iterator, Sequence

from memsense.ingest.head import Head
from memsense.ingest.injected import strip_injected
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.turns import (
    QUOTE,
    Turn,
    drop_cues,
    find_evidence,
    find_speakers,
    is_quoted,
    parse_turn,
    role_of_label,
)
from memsense.types import Conversation

_DATED = re.compile(r"\d{4}-\d\d-\d\d|\d{4}/\d")
_TITLE_LENGTH = 200


def guess(head: Head) -> str | None:
    """Return the evidence that a text is a transcript."""
    return None if head.is_json else find_evidence(head.text.split("\n"))


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a transcript."""
    text, injected = strip_injected("".join(reading.lines()), keep_lines=True)
    reading.report.injected_blocks += injected
    lines = drop_cues([line.rstrip("\r") for line in text.split("\n")])
    speakers = find_speakers(lines)
    if speakers:
        turns = _collect_turns(lines, speakers)
    else:
        turns = _collect_quoted(lines) if is_quoted(lines) else iter(())
    builder = reading.conversation()
    title = None
    for turn, line in turns:
        if not turn.name:
            title = turn.text.strip().partition("\n")[0][:_TITLE_LENGTH] or None
            continue
        reading.report.records += 1
        role = role_of_label(turn.name)
        if role in ("system", "tool"):
            reading.skip(f"{role} message", line)
            continue
        # `[00:01:23]` and `(10:32 AM)` are offsets and times of a day, not dates.
        time = turn.time.strip("[]()") if turn.time and _DATED.search(turn.time) else None
        builder.add(
            role or "other",
            turn.text,
            speaker=None if role else turn.name,
            stamp=reading.stamp(time),
            line=line,
        )
    yield from builder.build(reading.source.session_id, title=title)


def _collect_turns(lines: Sequence[str], speakers: set[str]) -> Iterator[tuple[Turn, int]]:
    """Yield each turn with its continuation lines, and its line; first the text before them all."""
    head, texts, start = Turn("", None, ""), [""], 1
    for number, line in enumerate(lines, 1):
        turn = parse_turn(line)
        if turn is None or turn.name not in speakers:
            texts.append(line)
            continue
        yield Turn(head.name, head.time, "\n".join(texts).strip()), start
        head, texts, start = turn, [turn.text], number
    yield Turn(head.name, head.time, "\n".join(texts).strip()), start


def _collect_quoted(lines: Sequence[str]) -> Iterator[tuple[Turn, int]]:
    """Yield a turn for each run of quoted lines, a prompt, and for the lines after it."""
    name, texts, start = "", [""], 1
    for number, line in enumerate(lines, 1):
        speaker = "user" if line.startswith(QUOTE) else "assistant"
        if speaker != name and (speaker == "user" or name == "user"):
            yield Turn(name, None, "\n".join(texts).strip()), start
            name, texts, start = speaker, [], number
        texts.append(line.removeprefix(QUOTE).removeprefix(" ") if speaker == "user" else line)
    yield Turn(name, None, "\n".join(texts).strip()), start


READER = Reader(name="transcript", sniff=lambda _head: None, guess=guess, read=read)
