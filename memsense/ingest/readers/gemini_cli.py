"""Reader of Gemini: CLI sessions (JSONL or one object), API request bodies, AI Studio prompts."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from memsense.ingest.content import content_text, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
from memsense.ingest.source import Source
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

_CHATS, _ROOT = "chats", ".project_root"
_LISTS = ("contents", "messages", "history")
_TEXT_KEYS = ("displayContent", "content", "parts", "text", "message")


@dataclass(slots=True)
class _Session:
    """A session that is logged line by line: its header, and its turns in order."""

    header: JsonObject = field(default_factory=dict[str, JsonValue])
    turns: list[tuple[JsonObject, int]] = field(default_factory=list[tuple[JsonObject, int]])

    def rewind(self, turn_id: JsonValue) -> int:
        """Drop the turn with this id and all after it; return how many were dropped."""
        ids = [turn.get("id") for turn, _ in self.turns]
        start = ids.index(turn_id) if turn_id in ids else len(ids)
        dropped = len(self.turns) - start
        del self.turns[start:]
        return dropped


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Gemini's."""
    return next((reason for is_sign, reason in _SIGNS if head.find(is_sign)), None)


def _is_prompt(record: JsonObject) -> bool:
    """Return whether it is a line of logs.json, which has what a person typed in all sessions."""
    return {"sessionId", "messageId", "message", "type"} <= record.keys()


_SIGNS: tuple[tuple[Callable[[JsonObject], bool], str], ...] = (
    (lambda record: record.get("type") == "session_metadata", "a line of type session_metadata"),
    (lambda record: {"sessionId", "projectHash"} <= record.keys(), "a session with projectHash"),
    (_is_prompt, "a log of prompts with sessionId and messageId"),
    (
        lambda record: isinstance(record.get("chunkedPrompt"), dict),
        "an AI Studio prompt with chunkedPrompt",
    ),
    (
        lambda record: any(
            isinstance(turn.get("parts"), list) for turn in objects(record.get("contents"))
        ),
        "contents with role and parts",
    ),
    (
        lambda record: any(
            turn.get("role") == "model"
            for turn in [*objects(record.get("messages")), *objects(record.get("history"))]
        ),
        "messages of role model",
    ),
)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each whole conversation, the session of a file of lines, and prompts by session."""
    session = _Session()
    prompts: dict[str, ConversationBuilder] = {}
    has_lines = False
    for record in reading.objects():
        value, line = record.value, record.line
        # A record that is a whole conversation.
        lists = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
        if isinstance(value.get("chunkedPrompt"), dict):
            lists = [mapping(value["chunkedPrompt"]).get("chunks")]
        if lists:
            numbered = [(turn, line) for turn in objects(lists[0])]
            session_id = reading.name_session(None, record.ordinal)
            yield from _build(reading, value, numbered, session_id)
            continue
        # A prompt, unless its session's own log was read in this run: that has it already.
        if _is_prompt(value):
            session_id = identifier(value.get("sessionId")) or reading.source.session_id
            label = reading.report.seen_ids.get(_seen_key(session_id), reading.source.label)
            if label != reading.source.label:
                reading.skip("in the log of its session, too", line)
                continue
            builder = prompts.setdefault(session_id, reading.conversation())
            _add_turn(builder, value, line, identifier(value.get("messageId")))
            continue
        # A line of a session that grows: a header, a turn, or a change to earlier lines.
        has_lines = True
        if value.get("type") == "session_metadata" or "projectHash" in value:
            session.header = session.header or value
        elif "$rewindTo" in value and not reading.options.all_branches:
            if dropped := session.rewind(value["$rewindTo"]):
                reading.skip("rolled back", line, dropped)
        elif "$set" in value:
            # The whole list is written again: only its new turns count.
            ids = {identifier(turn.get("id")) for turn, _ in session.turns} | {None}
            for turn in objects(reach(value, "$set", "messages")):
                if identifier(turn.get("id")) not in ids:
                    session.turns.append((turn, line))
        else:
            session.turns.append((value, line))
            continue
        reading.skip("not a message", line)
    if has_lines:
        yield from _build(reading, session.header, session.turns, reading.source.session_id)
    for session_id, builder in prompts.items():
        yield from builder.build(session_id)


def _seen_key(session: str) -> str:
    return f"gemini_cli:session:{session}"


def _build(
    reading: Reading, header: JsonObject, turns: Iterable[tuple[JsonObject, int]], session_id: str
) -> Iterator[Conversation]:
    if header.get("kind") == "subagent" and not reading.options.sidechains:
        reading.skip("sidechain", count=sum(1 for _ in turns))
        turns = ()
    builder = reading.conversation()
    for turn, line in turns:
        _add_turn(builder, turn, line, identifier(turn.get("id")))
    own_id = first_identifier(header, "sessionId", "session_id", "id")
    if own_id:
        reading.report.seen_ids.setdefault(_seen_key(own_id), reading.source.label)
    started = reading.stamp(header.get("startTime")).at
    folder = _find_root(reading.source) if "projectHash" in header else None
    yield from builder.build(own_id or session_id, started_at=started, folder=folder)


def _find_root(source: Source) -> str | None:
    """Return the folder of a session in `tmp/<project>/chats`, as a file next to `chats` names it.

    The session itself has only the folder's hash.
    """
    if source.path is None or source.path.parent.name != _CHATS:
        return None
    try:
        return (source.path.parent.parent / _ROOT).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None


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
    texts = (content_text(turn.get(key)) for key in _TEXT_KEYS)
    time = turn.get("timestamp", turn.get("createTime"))
    builder.add(
        role,
        next(filter(None, texts), ""),
        external_id=external_id,
        stamp=builder.reading.stamp(time),
        line=line,
    )


READER = Reader(name="gemini_cli", sniff=sniff, read=read)
