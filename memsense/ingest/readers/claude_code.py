"""Claude Code sessions: JSONL lines of a session file, many of them tools and notices."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from memsense.ingest.branches import living_lines
from memsense.ingest.content import text_blocks
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.types import Conversation

_TYPES = frozenset({"user", "assistant"})
_ENVELOPE = "loglines"
_FLAGS = {
    "isMeta": "meta prompt",
    "isCompactSummary": "compaction summary",
    "isApiErrorMessage": "API error notice",
}
_BLOCK_REASONS = {
    "tool_result": "tool result",
    "tool_use": "tool call",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "image": "image without text",
}
_TAGGED = re.compile(
    r"""\s*<(command-name|command-message|command-args|command-contents
    |local-command-stdout|local-command-stderr|local-command-caveat
    |bash-input|bash-stdout|bash-stderr|system-reminder|user-prompt-submit-hook
    |task-notification|ide_opened_file|ide_selection)>(.*?)</\1>\s*""",
    re.DOTALL | re.VERBOSE,
)
_NOTICES = (
    "Caveat: The messages below",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)


@dataclass(slots=True)
class _Line:
    """What matters of one line: its place in the chain, its words, or why it has none."""

    number: int
    uuid: str | None
    parent: str | None
    session: str
    is_sidechain: bool = False
    role: Literal["user", "assistant"] = "user"
    message_id: str | None = None
    texts: list[str] = field(default_factory=list[str])
    stamp: Stamp = NO_TIME
    reason: str | None = None


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: any(map(_is_message, objects(record.get(_ENVELOPE))))):
        return "loglines of a session on the web"
    if head.find(_is_message):
        return "lines of type user or assistant with sessionId or uuid and a message"
    if head.find(_is_summary):
        return "summary lines with leafUuid"
    return None


def _is_message(record: JsonObject) -> bool:
    is_turn = string(record.get("type")) in _TYPES
    is_named = "sessionId" in record or "uuid" in record
    is_qwens = "parts" in mapping(record.get("message"))
    return is_turn and is_named and isinstance(record.get("message"), dict) and not is_qwens


def _is_summary(record: JsonObject) -> bool:
    return record.get("type") == "summary" and "leafUuid" in record


def _read(reading: Reading) -> Iterator[Conversation]:
    titles: dict[str, str] = {}
    lines: list[_Line] = []
    for record in _records(reading):
        if _is_summary(record.value):
            leaf, summary = record.value.get("leafUuid"), record.value.get("summary")
            titles[string(leaf)] = string(summary)
        lines.append(_take_line(reading, record))
    kept = _keep_living(reading, lines)
    builders: dict[str, ConversationBuilder] = {}
    for line in _join_answers(reading, kept):
        builder = builders.setdefault(line.session, reading.conversation())
        builder.add(
            line.role,
            "\n\n".join(line.texts),
            external_id=line.uuid,
            stamp=line.stamp,
            line=line.number,
        )
    title = next((titles[line.uuid] for line in lines if line.uuid in titles), None)
    if not builders:
        yield from reading.conversation().build(reading.source.session_id)
    for session, builder in builders.items():
        yield from builder.build(session, title=title)


def _records(reading: Reading) -> Iterator[ObjectRecord]:
    """The session's lines, also those that the web's export holds in one list."""
    for record in reading.objects(envelope=_ENVELOPE):
        if _ENVELOPE not in record.value:
            yield record
            continue
        for value in objects(record.value[_ENVELOPE]):
            yield ObjectRecord(value, record.line, record.ordinal, record.list_number)


def _take_line(reading: Reading, record: ObjectRecord) -> _Line:
    value = record.value
    line = _Line(
        number=record.line,
        uuid=identifier(value.get("uuid")),
        parent=identifier(value.get("parentUuid")),
        session=identifier(value.get("sessionId")) or reading.source.session_id,
    )
    line.reason = _reason_by_type(reading, value)
    if line.reason is None:
        line.stamp = reading.stamp(value.get("timestamp"))
        _take_message(line, value)
    if value.get("isSidechain") is True:
        line.is_sidechain = True
        line.session = f"{line.session}/{identifier(value.get('agentId')) or 'sidechain'}"
    return line


def _reason_by_type(reading: Reading, value: JsonObject) -> str | None:
    if string(value.get("type")) not in _TYPES:
        return "not a message"
    if not isinstance(value.get("message"), dict):
        return "message is not an object"
    if value.get("isSidechain") is True and not reading.options.sidechains:
        return "sidechain"
    return next((reason for flag, reason in _FLAGS.items() if value.get(flag) is True), None)


def _take_message(line: _Line, value: JsonObject) -> None:
    message = mapping(value.get("message"))
    line.role = "assistant" if value.get("type") == "assistant" else "user"
    line.message_id = identifier(message.get("id"))
    blocks = list(text_blocks(message.get("content")))
    if message.get("model") == "<synthetic>":
        line.reason = "API error notice"
    elif not blocks:
        line.reason = _reason_without_text(message)
    elif line.role == "user":
        line.texts = [words for block in blocks if (words := _peel(block))]
        line.reason = None if line.texts else "command or notice of the program"
    else:
        line.texts = blocks


def _reason_without_text(message: JsonObject) -> str:
    if "content" not in message:
        return "message without content"
    kinds = (string(block.get("type")) for block in objects(message["content"]))
    return next((_BLOCK_REASONS[kind] for kind in kinds if kind in _BLOCK_REASONS), EMPTY)


def _peel(text: str) -> str:
    """The person's words: leading tags of the program off, a command's arguments kept."""
    start, arguments = 0, ""
    while match := _TAGGED.match(text, start):
        if match[1] == "command-args":
            arguments = match[2].strip()
        start = match.end()
    rest = text[start:]
    if rest.lstrip().startswith(_NOTICES):
        return ""
    return "\n".join(part for part in (arguments, rest) if part.strip())


def _keep_living(reading: Reading, lines: Sequence[_Line]) -> list[_Line]:
    """The lines with words that are on the living branch and new in this run."""
    everything = reading.options.all_branches
    living = set(range(len(lines))) if everything else _living(lines)
    kept: list[_Line] = []
    for position, line in enumerate(lines):
        reason = line.reason or _reason_by_place(reading, line, position in living)
        if reason:
            reading.skip(reason, line.number)
        else:
            kept.append(line)
    return kept


def _living(lines: Sequence[_Line]) -> set[int]:
    """Positions of living lines; all lines of one answer live or go together."""
    chain = [(i, line) for i, line in enumerate(lines) if not line.is_sidechain]
    positions = [i for i, _ in chain]
    on_path = living_lines([line.uuid for _, line in chain], [line.parent for _, line in chain])
    living = {positions[i] for i in on_path} | (set(range(len(lines))) - set(positions))
    answers = {lines[i].message_id for i in living} - {None}
    return living | {i for i, line in enumerate(lines) if line.message_id in answers}


def _reason_by_place(reading: Reading, line: _Line, is_living: bool) -> str | None:
    if not is_living:
        return "abandoned branch"
    if line.uuid is None:
        return None
    label = reading.source.label
    first = reading.report.seen_ids.setdefault(f"{reading.format}:{line.uuid}", label)
    return None if first == label else "repeated in a resumed session"


def _join_answers(reading: Reading, lines: Sequence[_Line]) -> list[_Line]:
    """One line an answer: the blocks of one API message come as several lines."""
    joined: list[_Line] = []
    answers: dict[tuple[str, str], _Line] = {}
    for line in lines:
        if line.role != "assistant" or line.message_id is None:
            joined.append(line)
            continue
        first = answers.setdefault((line.session, line.message_id), line)
        if first is line or first.uuid == line.uuid:
            joined.append(line)
        else:
            _merge_blocks(first.texts, line.texts)
            reading.report.joined += 1
    return joined


def _merge_blocks(texts: list[str], later: Sequence[str]) -> None:
    """Add the blocks not there yet; a longer snapshot of the last block replaces it."""
    for text in later:
        if text in texts:
            continue
        if text.startswith(texts[-1]):
            texts[-1] = text
        else:
            texts.append(text)


READER = Reader(name="claude_code", sniff=_sniff, read=_read)
