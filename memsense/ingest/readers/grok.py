"""Reader of Grok: the account export with its responses, and its command line's chat history."""

from collections.abc import Iterator

from memsense.ingest.branches import find_latest_leaf, path_to_root
from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reading import INJECTED, ObjectRecord, Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
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


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Grok's."""
    if head.find(_is_conversation) or head.has_item(_ENVELOPE, _is_conversation):
        return "conversations with a list of responses"
    for record in head.objects:
        if record.get("type") == "user" and "content" in record and "message" not in record:
            text = content_text(record["content"])
            if "synthetic_reason" in record or text.lstrip().startswith(_CONTEXT):
                return "lines of a type and a content with the context of Grok's command line"
    return None


def _is_conversation(record: JsonObject) -> bool:
    responses = [mapping(item.get("response")) for item in objects(record.get("responses"))]
    return "conversation" in record and any("sender" in one for one in responses)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each conversation of an export, or the one conversation of a chat history."""
    history = reading.conversation()
    has_lines = False
    for record in reading.objects(envelope=_ENVELOPE):
        if "responses" in record.value:
            yield from _read_conversation(reading, record)
            continue
        has_lines = True
        value, line = record.value, record.line
        kind = string(value.get("type"))
        role, text = role_of(kind), content_text(value.get("content"))
        # Synthetic messages are the program's own.
        words = text
        if role == "user":
            words = "" if value.get("synthetic_reason") else unwrap_query(text)
        if role not in ("user", "assistant"):
            reason = "thinking" if kind == "reasoning" else f"{role or 'unknown'} message"
            reading.skip(reason, line)
        elif text.strip() and not words.strip():
            reading.skip(INJECTED, line)
        elif not words.strip() and value.get("tool_calls"):
            reading.skip("tool call", line)
        else:
            message_id = identifier(value.get("id"))
            stamp = reading.stamp(value.get("timestamp"))
            history.add(role, words, external_id=message_id, stamp=stamp, line=line)
    if has_lines:
        yield from history.build(reading.source.session_id)


def _read_conversation(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    about, line = mapping(record.value.get("conversation")), record.line
    items = objects(record.value.get("responses"))
    responses = [mapping(item.get("response")) for item in items]
    # Where responses name their parents, those on the latest path were shown; else all.
    ids = [first_identifier(one, "_id", "id", "response_id") for one in responses]
    parents = [first_identifier(one, "parent_response_id", "parentResponseId") for one in responses]
    latest = responses
    if None not in ids and any(parents) and not reading.options.all_branches:
        by_id = {key or "": one for key, one in zip(ids, responses, strict=True)}
        tree = {key or "": parent for key, parent in zip(ids, parents, strict=True)}
        times = {k: epoch_seconds(_unwrap_time(r.get("create_time"))) for k, r in by_id.items()}
        latest = [by_id[key] for key in path_to_root(find_latest_leaf(tree, times) or "", tree)]
    if len(latest) < len(responses):
        reading.skip("abandoned branch", line, len(responses) - len(latest))
    builder = reading.conversation()
    for response in latest:
        sender = string(response.get("sender")).lower()
        if not sender:
            reading.skip("message without a sender", line)
            continue
        # Attachments are names, or objects that have one.
        files = (
            format_file(file if isinstance(file, str) else mapping(file).get("file_name"))
            for file in sequence(response.get("file_attachments"))
        )
        builder.add(
            "user" if sender == "human" else "assistant",
            join_texts(string(response.get("message")), *files),
            external_id=first_identifier(response, "_id", "id", "response_id"),
            stamp=reading.stamp(_unwrap_time(response.get("create_time"))),
            line=line,
        )
    yield from builder.build(
        reading.name_session(identifier(about.get("id")), record.ordinal),
        title=string(about.get("title")),
        started_at=reading.stamp(_unwrap_time(about.get("create_time"))).at,
    )


def _unwrap_time(value: JsonValue) -> JsonValue:
    """Return a time in a form that `parse_timestamp` reads.

    Grok writes ISO 8601, or its database's dates: milliseconds as text in `$date.$numberLong`.
    """
    digits = reach(value, "$date", "$numberLong")
    if isinstance(digits, str):
        # A longer number is no time, and int() raises for thousands of digits.
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 20  # noqa: PLR2004
        return int(digits) if is_number else None
    date = mapping(value).get("$date")
    return date if date is not None else value


READER = Reader(name="grok", sniff=sniff, read=read)
