"""Reader of Google Takeout's Gemini activities, JSON or HTML: a prompt and its answer each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memsense.ingest.content import format_file, join_texts
from memsense.ingest.head import Head
from memsense.ingest.html_text import html_text
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp, localise
from memsense.ingest.values import JsonObject, identifier, objects, sequence, string
from memsense.types import Conversation

_SESSION = "gemini"
_PROGRAM = re.compile(r"(?i:\b(?:gemini|bard)\b)")
# The title of an activity is a sentence about the person: a prompt behind the first words, or a
# deed without any.
_PROMPTED = re.compile(
    r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Branched|Answered)\s+"
)
_DEED = re.compile(
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
_LONGEST_TIME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Activity:
    """A prompt with its answers as HTML; `prompt` is None if the person did something else."""

    prompt: str | None
    answers: Sequence[str]
    files: Sequence[str]
    time: str
    stamp: Stamp
    session: str
    line: int


def sniff(head: Head) -> str | None:
    """Return what shows that a log has activities of Gemini."""
    if head.find(_is_activity):
        return "activities of Gemini with title and time"
    if not head.is_json and _CELL in head.text and _PROGRAM.search(head.text):
        return "cells of My Activity that name Gemini"
    return None


def _is_activity(record: JsonObject) -> bool:
    has_title = isinstance(record.get("title"), str) and isinstance(record.get("time"), str)
    labels = [record.get("header"), *sequence(record.get("products"))]
    return has_title and any(_PROGRAM.search(string(label)) for label in labels)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the chats that links name, and all other activities as one, cut at silences."""
    first = next((chunk.strip("\ufeff\x00 \r\n\t") for chunk in reading.chunks()), "")
    read_activities = _read_html if first.startswith("<") else _read_json
    activities = list(read_activities(reading))
    # My Activity lists the newest first.
    times = [activity.stamp.at for activity in activities if activity.stamp.at]
    if times and times[0] > times[-1]:
        activities.reverse()
    builders: dict[str, ConversationBuilder] = {}
    for activity in activities:
        builder = builders.setdefault(activity.session, reading.conversation())
        if activity.prompt is None:
            reading.skip("notice of the program", activity.line)
            continue
        builder.add(
            "user",
            join_texts(activity.prompt, *map(format_file, activity.files)),
            external_id=activity.time or None,
            stamp=activity.stamp,
            line=activity.line,
        )
        # Of several drafts of an answer the last is taken.
        if len(activity.answers) > 1:
            reading.skip("abandoned branch", activity.line, len(activity.answers) - 1)
        for answer in activity.answers[-1:]:
            answer_id = f"{activity.time}:answer" if activity.time else None
            builder.add(
                "assistant",
                html_text(answer),
                external_id=answer_id,
                stamp=activity.stamp,
                line=activity.line,
            )
    for session, builder in builders.items():
        if session == _SESSION:
            yield from builder.build_parts(session, reading.options.session_gap)
        else:
            yield from builder.build(session)


def _extract_prompt(title: str, *, has_answer: bool) -> str | None:
    """Return the person's words in a title, or None for another deed."""
    if _DEED.match(title):
        return None
    if opening := _PROMPTED.match(title):
        title = title[opening.end() :]
    elif not has_answer:
        # A title in another language: it is a prompt only if it was answered.
        return None
    return _ATTACHED.sub("", title).strip()


def _find_session(text: str) -> str:
    """Return the chat's id if a link names it; all other activities are one session."""
    match = _LINK.search(text)
    return match[1] if match else _SESSION


# JSON ---------------------------------------------------------------------------------------------


def _read_json(reading: Reading) -> Iterator[_Activity]:
    for record in reading.objects():
        value = record.value
        if not _is_activity(value):
            reading.skip("not a message", record.line)
            continue
        answers = [string(item.get("html")) for item in objects(value.get("safeHtmlItem"))]
        # The names of attached files stand behind dashes.
        names = [identifier(item.get("name")) or "" for item in objects(value.get("subtitles"))]
        yield _Activity(
            prompt=_extract_prompt(string(value.get("title")), has_answer=bool(answers)),
            answers=[answer for answer in answers if answer.strip()],
            files=[match[1] for name in names if (match := _FILE.fullmatch(name))],
            time=string(value.get("time")),
            stamp=reading.stamp(value.get("time")),
            session=_find_session(string(value.get("titleUrl"))),
            line=record.line,
        )


# HTML ---------------------------------------------------------------------------------------------


def _read_html(reading: Reading) -> Iterator[_Activity]:
    # Cell by cell: the page of an account may have any size.
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
    # The title's lines, the time, and the answer follow each other, with breaks between them.
    pieces = _BREAK.split(cell[body.end() :].partition(_NEXT_CELL)[0])
    dated = next(
        (
            i
            for i, piece in enumerate(pieces)
            if len(piece) < _LONGEST_TIME
            and _LOOKS_DATED.fullmatch(" ".join(html_text(piece).split()))
        ),
        len(pieces),
    )
    time = " ".join(html_text("".join(pieces[dated : dated + 1])).split())
    answer = "<br>".join(pieces[dated + 1 :]).removesuffix("</div>")
    lines = [html_text(piece) for piece in pieces[:dated]]
    files = [match[1] for text in lines if (match := _FILE.fullmatch(text))]
    words = [text for text in lines if not (_FILE.fullmatch(text) or _GENERATED.match(text))]
    yield _Activity(
        prompt=_extract_prompt("\n".join(words).strip(), has_answer=bool(answer.strip())),
        answers=[answer] if html_text(answer) else [],
        files=files,
        time=time,
        stamp=_parse_time(reading, time),
        session=_find_session(cell),
        line=line,
    )


def _parse_time(reading: Reading, time: str) -> Stamp:
    """Parse a time as the page writes it: in English, with the zone's letters."""
    match = _WHEN.fullmatch(time)
    if match is None or match[1] not in _MONTHS:
        return reading.stamp(time)
    hour = int(match[4]) % _NOON + (_NOON if match[7] == "P" else 0)
    month = _MONTHS.index(match[1]) + 1
    iso_time = f"{match[3]}-{month:02}-{int(match[2]):02}T{hour:02}:{match[5]}:{match[6]}"
    if match[8] in ("UTC", "GMT"):
        return reading.stamp(f"{iso_time}Z")
    # The letters of other zones are not unique (CST is three of them): the zone stays unknown.
    try:
        return localise(datetime.fromisoformat(iso_time), reading.options.timezone)
    except ValueError:
        return NO_TIME


READER = Reader(name="gemini_takeout", sniff=sniff, read=read)
