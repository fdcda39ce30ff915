"""Grok: the account export with its responses, and the chat history of Grok's command line."""

from collections.abc import Iterator, Sequence

from memsense.ingest.branches import find_latest_leaf, path_to_root
from memsense.ingest.content import joined_text, named_file
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reader import Reader
from memsense.ingest.reading import INJECTED, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    sequence,
    string,
)
from memsense.types import Conversation, JsonValue

_ENVELOPE = "conversations"
_CONTEXT = ("<user_info>", "<user_query>", "<project_layout>")


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: any(map(_is_conversation, [record, *_enveloped(record)]))):
        return "conversations with a list of responses"
    if head.find(_is_line):
        return "lines of a type and a content with the context of Grok's command line"
    return None


def _enveloped(record: JsonObject) -> list[JsonObject]:
    return objects(record.get(_ENVELOPE))


def _is_conversation(record: JsonObject) -> bool:
    told = [mapping(item.get("response")) for item in objects(record.get("responses"))]
    return "conversation" in record and any("sender" in one for one in told)


def _is_line(record: JsonObject) -> bool:
    is_user = record.get("type") == "user" and "content" in record and "message" not in record
    told = joined_text(record.get("content")) if is_user else ""
    return is_user and ("synthetic_reason" in record or told.lstrip().startswith(_CONTEXT))


def _read(reading: Reading) -> Iterator[Conversation]:
    history = reading.conversation()
    saw_lines = False
    for record in reading.objects(envelope=_ENVELOPE):
        if "responses" in record.value:
            yield from _read_conversation(reading, record)
        else:
            saw_lines = True
            _add_line(history, record.value, record.line)
    if saw_lines:
        yield from history.build(reading.source.session_id)


def _read_conversation(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    about = mapping(record.value.get("conversation"))
    told = [mapping(item.get("response")) for item in objects(record.value.get("responses"))]
    shown = _shown(reading, told)
    if len(shown) < len(told):
        reading.skip("abandoned branch", record.line, len(told) - len(shown))
    builder = reading.conversation()
    for response in shown:
        _add_response(builder, response, record.line)
    known = identifier(about.get("id"))
    yield from builder.build(
        known or f"{reading.source.session_id}:{record.ordinal}",
        title=string(about.get("title")),
        started_at=reading.stamp(_time(about.get("create_time"))).at,
    )


def _shown(reading: Reading, told: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """The responses on the latest path, where they name their parents; else all."""
    ids = [first_identifier(one, "_id", "id", "response_id") for one in told]
    parents = [first_identifier(one, "parent_response_id", "parentResponseId") for one in told]
    if None in ids or not any(parents) or reading.options.all_branches:
        return told
    by_id = {known or "": one for known, one in zip(ids, told, strict=True)}
    tree = {known or "": parent for known, parent in zip(ids, parents, strict=True)}
    times = {known: _seconds(one.get("create_time")) for known, one in by_id.items()}
    return [by_id[known] for known in path_to_root(find_latest_leaf(tree, times) or "", tree)]


def _seconds(value: JsonValue) -> float:
    at = parse_timestamp(_time(value)).at
    return at.timestamp() if at else 0.0


def _time(value: JsonValue) -> JsonValue:
    """A time as Grok writes it: ISO 8601, or a database's date as milliseconds in a string."""
    long = reach(value, "$date", "$numberLong")
    if isinstance(long, str):
        return int(long) if long.isascii() and long.isdigit() and len(long) < 20 else None  # noqa: PLR2004
    dated = mapping(value).get("$date")
    return dated if dated is not None else value


def _add_response(builder: ConversationBuilder, response: JsonObject, line: int) -> None:
    sender = string(response.get("sender")).lower()
    role = "user" if sender == "human" else "assistant" if sender else None
    if role is None:
        builder.reading.skip("message without a sender", line)
        return
    files = (
        named_file(file if isinstance(file, str) else first_identifier(mapping(file), "file_name"))
        for file in sequence(response.get("file_attachments"))
    )
    builder.add(
        role,
        "\n\n".join(text for text in (string(response.get("message")), *files) if text),
        external_id=first_identifier(response, "_id", "id", "response_id"),
        stamp=builder.reading.stamp(_time(response.get("create_time"))),
        line=line,
    )


def _add_line(builder: ConversationBuilder, record: JsonObject, line: int) -> None:
    kind = string(record.get("type"))
    role = role_of(kind)
    text = joined_text(record.get("content"))
    if role not in ("user", "assistant"):
        reason = "thinking" if kind == "reasoning" else f"{role or 'unknown'} message"
        builder.reading.skip(reason, line)
        return
    if role == "user":
        words = "" if record.get("synthetic_reason") else unwrap_query(text)
        if text.strip() and not words.strip():
            builder.reading.skip(INJECTED, line)
            return
        text = words
    if not text.strip() and record.get("tool_calls"):
        builder.reading.skip("tool call", line)
        return
    stamp = builder.reading.stamp(record.get("timestamp"))
    builder.add(role, text, external_id=identifier(record.get("id")), stamp=stamp, line=line)


READER = Reader(name="grok", sniff=_sniff, read=_read)
