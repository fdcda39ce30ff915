"""Google Takeout of Gemini: My Activity as JSON or HTML, a prompt and its answer each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.html_text import html_text
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp, localise
from memsense.ingest.values import JsonObject, identifier, objects, sequence, string
from memsense.types import Conversation, JsonValue

_SESSION = "gemini"
_PROGRAM = re.compile(r"(?i:\b(?:gemini|bard)\b)")
_SAID = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Branched|Answered)\s+")
_DONE = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Visited|Edited|Pinned|Renamed"
    r"|Exported|Updated)\b"
)
_ATTACHED = re.compile(r"Attached \d{1,4} files?\.?")
_GENERATED = re.compile(r"\d{1,4} generated images?\.?")
_FILE = re.compile(r"-\s+(\S.*)")
_CELL = '<div class="outer-cell'
_BODY = re.compile(r'<div class="content-cell[^">]*mdl-typography--body-1">')
_NEXT_CELL = '<div class="content-cell'
_BREAK = re.compile(r"<br\s?/?>")
_LINK = re.compile(r"gemini\.google\.com/app/([\w-]{1,80})")
_WHEN = re.compile(
    r"([A-Z][a-z]{2})[a-z]{0,6} (\d{1,2}), (\d{4}), "
    r"(\d{1,2}):(\d{2}):(\d{2})\s?([AP])M(?: (\w{2,5}))?"
)
_LOOKS_DATED = re.compile(r"[^<>]{0,40}\d{1,2}:\d{2}:\d{2}[^<>]{0,12}")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NOON = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Activity:
    """A prompt with its answers as HTML; `said` is None where the person did something else."""

    said: str | None
    answers: Sequence[str]
    files: Sequence[str]
    time: str
    stamp: Stamp
    session: str
    line: int


def _sniff(head: Head) -> str | None:
    if head.find(_is_activity):
        return "activities of Gemini with title and time"
    if not head.is_json and _CELL in head.text and _PROGRAM.search(head.text):
        return "cells of My Activity that name Gemini"
    return None


def _is_activity(record: JsonObject) -> bool:
    told = isinstance(record.get("title"), str) and isinstance(record.get("time"), str)
    labels = [record.get("header"), *sequence(record.get("products"))]
    return told and any(_PROGRAM.search(string(label)) for label in labels)


def _read(reading: Reading) -> Iterator[Conversation]:
    """Activities are told newest first, and are turned round."""
    first = next((chunk.strip("\ufeff\x00 \r\n\t") for chunk in reading.chunks()), "")
    found = list(_cells(reading) if first.startswith("<") else _records(reading))
    times = [one.stamp.at for one in found if one.stamp.at]
    if times and times[0] > times[-1]:
        found.reverse()
    builders: dict[str, ConversationBuilder] = {}
    for activity in found:
        builder = builders.setdefault(activity.session, reading.conversation())
        _add(builder, activity)
    for session, builder in builders.items():
        if session == _SESSION:
            yield from builder.build_parts(session, reading.options.session_gap)
        else:
            yield from builder.build(session)


def _add(builder: ConversationBuilder, activity: _Activity) -> None:
    if activity.said is None:
        builder.reading.skip("notice of the program", activity.line)
        return
    files = [named_file(name) for name in activity.files]
    builder.add(
        "user",
        "\n\n".join(part for part in (activity.said, *files) if part),
        external_id=activity.time or None,
        stamp=activity.stamp,
        line=activity.line,
    )
    if len(activity.answers) > 1:
        left = len(activity.answers) - 1
        builder.reading.skip("abandoned branch", activity.line, left)
    for answer in activity.answers[-1:]:
        known = f"{activity.time}:answer" if activity.time else None
        text = html_text(answer)
        builder.add("assistant", text, external_id=known, stamp=activity.stamp, line=activity.line)


def _said(title: str, *, answered: bool) -> str | None:
    """The person's words in a title; in a language that is not known, all of one with an answer."""
    if _DONE.match(title):
        return None
    if opening := _SAID.match(title):
        title = title[opening.end() :]
    elif not answered:
        return None
    return _ATTACHED.sub("", title).strip()


# JSON ---------------------------------------------------------------------------------------------


def _records(reading: Reading) -> Iterator[_Activity]:
    for record in reading.objects():
        value = record.value
        if not _is_activity(value):
            reading.skip("not a message", record.line)
            continue
        answers = [string(item.get("html")) for item in objects(value.get("safeHtmlItem"))]
        time = string(value.get("time"))
        yield _Activity(
            said=_said(string(value.get("title")), answered=bool(answers)),
            answers=[answer for answer in answers if answer.strip()],
            files=_named(objects(value.get("subtitles"))),
            time=time,
            stamp=reading.stamp(value.get("time")),
            session=_session(value.get("titleUrl")),
            line=record.line,
        )


def _named(subtitles: Sequence[JsonObject]) -> list[str]:
    """The names of attached files, which stand behind dashes."""
    names = (_FILE.fullmatch(identifier(one.get("name")) or "") for one in subtitles)
    return [name[1] for name in names if name]


def _session(url: JsonValue) -> str:
    """The chat's id where a link shows it; else all chats are one, cut at silences."""
    found = _LINK.search(string(url))
    return found[1] if found else _SESSION


# HTML ---------------------------------------------------------------------------------------------


def _cells(reading: Reading) -> Iterator[_Activity]:
    pending, line = "", 1
    for chunk in reading.chunks():
        *cells, pending = (pending + chunk).split(_CELL)
        for cell in cells:
            yield from _read_cell(reading, cell, line)
            line += cell.count("\n")
    yield from _read_cell(reading, pending, line)


def _read_cell(reading: Reading, cell: str, line: int) -> Iterator[_Activity]:
    body = _BODY.search(cell)
    if body is None:
        return
    reading.report.records += 1
    if not _PROGRAM.search(cell[: body.start()]):
        reading.skip("not a message", line)
        return
    told = cell[body.end() :].partition(_NEXT_CELL)[0]
    pieces = _BREAK.split(told)
    dated = next((i for i, piece in enumerate(pieces) if _is_time(piece)), len(pieces))
    time = " ".join(html_text("".join(pieces[dated : dated + 1])).split())
    answer = "<br>".join(pieces[dated + 1 :]).removesuffix("</div>")
    lines = [html_text(piece) for piece in pieces[:dated]]
    files = [match[1] for piece in lines if (match := _FILE.fullmatch(piece))]
    words = [piece for piece in lines if not (_FILE.fullmatch(piece) or _GENERATED.match(piece))]
    yield _Activity(
        said=_said("\n".join(words).strip(), answered=bool(answer.strip())),
        answers=[answer] if html_text(answer) else [],
        files=files,
        time=time,
        stamp=_stamp(reading, time),
        session=_session(cell),
        line=line,
    )


def _is_time(piece: str) -> bool:
    text = html_text(piece) if len(piece) < 200 else ""  # noqa: PLR2004
    return bool(_LOOKS_DATED.fullmatch(" ".join(text.split())))


def _stamp(reading: Reading, time: str) -> Stamp:
    """The time as the page writes it: in English, with the zone's letters."""
    match = _WHEN.fullmatch(time)
    if match is None or match[1] not in _MONTHS:
        return reading.stamp(time)
    hour = int(match[4]) % _NOON + (_NOON if match[7] == "P" else 0)
    month = _MONTHS.index(match[1]) + 1
    written = f"{match[3]}-{month:02}-{int(match[2]):02}T{hour:02}:{match[5]}:{match[6]}"
    if match[8] in ("UTC", "GMT"):
        return reading.stamp(f"{written}Z")
    try:
        return localise(datetime.fromisoformat(written), reading.options.timezone)
    except ValueError:
        return NO_TIME


READER = Reader(name="gemini_takeout", sniff=_sniff, read=_read)
