"""Gemini: CLI sessions (JSONL or one object), API request bodies, AI Studio prompts."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    string,
)
from memsense.types import Conversation, JsonValue

_LISTS = ("contents", "messages", "history")
_WORD_KEYS = ("displayContent", "content", "parts", "text", "message")


@dataclass(slots=True)
class _Session:
    """A session told line by line: its header, and its turns by id, in order."""

    header: JsonObject = field(default_factory=dict[str, JsonValue])
    turns: list[tuple[JsonObject, int]] = field(default_factory=list[tuple[JsonObject, int]])

    def rewind(self, turn_id: JsonValue) -> int:
        """Drop the turn with this id and all after it; how many went."""
        ids = [turn.get("id") for turn, _ in self.turns]
        start = ids.index(turn_id) if turn_id in ids else len(ids)
        dropped = len(self.turns) - start
        del self.turns[start:]
        return dropped


def _sniff(head: Head) -> str | None:
    return next((reason for shows, reason in _SIGNS if head.find(shows)), None)


def _is_prompt(record: JsonObject) -> bool:
    """Whether it is a line of logs.json, which keeps what a person typed in all sessions."""
    return {"sessionId", "messageId", "message", "type"} <= record.keys()


def _is_turn(turn: JsonObject) -> bool:
    return isinstance(turn.get("parts"), list)


def _has_model_role(record: JsonObject) -> bool:
    turns = [*objects(record.get("messages")), *objects(record.get("history"))]
    return any(turn.get("role") == "model" for turn in turns)


def _read(reading: Reading) -> Iterator[Conversation]:
    session = _Session()
    prompts: dict[str, ConversationBuilder] = {}
    saw_lines = False
    for record in reading.objects():
        turns = _turns(record.value)
        if turns is not None:
            yield from _read_object(reading, record, turns)
        elif _is_prompt(record.value):
            _take_prompt(reading, prompts, record)
        else:
            saw_lines = True
            _take_line(reading, session, record)
    if saw_lines:
        yield from _build(reading, session.header, session.turns, reading.source.session_id)
    for known, builder in prompts.items():
        yield from builder.build(known)


def _take_line(reading: Reading, session: _Session, record: ObjectRecord) -> None:
    """One line of a session that grows: a header, a turn, or a change to what was told."""
    value = record.value
    if value.get("type") == "session_metadata" or "projectHash" in value:
        session.header = session.header or value
        reading.skip("not a message", record.line)
    elif "$rewindTo" in value and not reading.options.all_branches:
        if dropped := session.rewind(value["$rewindTo"]):
            reading.skip("rolled back", record.line, dropped)
        reading.skip("not a message", record.line)
    elif "$set" in value:
        told = objects(reach(value, "$set", "messages"))
        known = {identifier(turn.get("id")) for turn, _ in session.turns} | {None}
        new = [turn for turn in told if identifier(turn.get("id")) not in known]
        session.turns.extend((turn, record.line) for turn in new)
        reading.skip("not a message", record.line)
    else:
        session.turns.append((value, record.line))


def _take_prompt(
    reading: Reading, prompts: dict[str, ConversationBuilder], record: ObjectRecord
) -> None:
    """A person's prompt, unless its session was read in full from a log of its own."""
    session = identifier(record.value.get("sessionId")) or reading.source.session_id
    label = reading.report.seen_ids.get(_seen(session), reading.source.label)
    if label != reading.source.label:
        reading.skip("in the log of its session, too", record.line)
        return
    builder = prompts.setdefault(session, reading.conversation())
    _add_turn(builder, record.value, record.line, identifier(record.value.get("messageId")))


def _seen(session: str) -> str:
    return f"gemini_cli:session:{session}"


def _build(
    reading: Reading, header: JsonObject, turns: Iterable[tuple[JsonObject, int]], place: str
) -> Iterator[Conversation]:
    if header.get("kind") == "subagent" and not reading.options.sidechains:
        reading.skip("sidechain", count=sum(1 for _ in turns))
        turns = ()
    builder = reading.conversation()
    for turn, line in turns:
        _add_turn(builder, turn, line, identifier(turn.get("id")))
    known = first_identifier(header, "sessionId", "session_id", "id")
    if known:
        reading.report.seen_ids.setdefault(_seen(known), reading.source.label)
    started = reading.stamp(header.get("startTime")).at
    yield from builder.build(known or place, started_at=started)


def _turns(record: JsonObject) -> list[JsonObject] | None:
    """The turns of a record that is a whole conversation, else None."""
    if isinstance(record.get("chunkedPrompt"), dict):
        return objects(mapping(record["chunkedPrompt"]).get("chunks"))
    lists = (record[key] for key in _LISTS if isinstance(record.get(key), list))
    return next((objects(turns) for turns in lists), None)


def _read_object(
    reading: Reading, record: ObjectRecord, turns: list[JsonObject]
) -> Iterator[Conversation]:
    told = [(turn, record.line) for turn in turns]
    yield from _build(reading, record.value, told, f"{reading.source.session_id}:{record.ordinal}")


def _add_turn(
    builder: ConversationBuilder, turn: JsonObject, line: int, external_id: str | None
) -> None:
    role = role_of(string(turn.get("role")) or string(turn.get("type")))
    if role not in ("user", "assistant"):
        builder.reading.skip("not a message", line)
        return
    if turn.get("isThought") is True:
        builder.reading.skip("thinking", line)
        return
    builder.add(
        role,
        _words(turn),
        external_id=external_id,
        stamp=builder.reading.stamp(_time(turn)),
        line=line,
    )


def _time(turn: JsonObject) -> JsonValue:
    return turn.get("timestamp", turn.get("createTime"))


def _words(turn: JsonObject) -> str:
    found = (joined_text(turn.get(key)) for key in _WORD_KEYS)
    return next((words for words in found if words), "")


_SIGNS: tuple[tuple[Callable[[JsonObject], bool], str], ...] = (
    (lambda record: record.get("type") == "session_metadata", "a line of type session_metadata"),
    (lambda record: {"sessionId", "projectHash"} <= record.keys(), "a session with projectHash"),
    (_is_prompt, "a log of prompts with sessionId and messageId"),
    (
        lambda record: isinstance(record.get("chunkedPrompt"), dict),
        "an AI Studio prompt with chunkedPrompt",
    ),
    (
        lambda record: any(map(_is_turn, objects(record.get("contents")))),
        "contents with role and parts",
    ),
    (_has_model_role, "messages of role model"),
)

READER = Reader(name="gemini_cli", sniff=_sniff, read=_read)
