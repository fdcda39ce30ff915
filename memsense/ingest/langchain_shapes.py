"""The four shapes in which LangChain writes a message.

The reader uses them for logs, and `memsense.draft` for messages that callers hand over.
"""

from memsense.ingest.values import JsonObject, mapping, reach, sequence, string

_SUMMARY = "Here is a summary of the conversation to date"


def message_fields(record: JsonObject) -> JsonObject:
    """Return the message's own fields, from its envelope: `kwargs` of a dump, `data` of a dict."""
    for key in ("kwargs", "data"):
        if inner := mapping(record.get(key)):
            return inner
    return record


def message_type(record: JsonObject) -> str:
    """Return the word for who speaks, such as human or ai, in whichever of the shapes."""
    if record.get("lc") is None:
        return string(record.get("type"))
    # A dump's own `type` is "constructor"; the last part of its `id` is the class.
    name = next((string(part) for part in reversed(sequence(record.get("id")))), "")
    kind = string(message_fields(record).get("type"))
    return kind or name.removesuffix("Chunk").removesuffix("Message").lower()


def reason_to_skip(fields: JsonObject, role: str | None, text: str) -> str | None:
    """Return why a message holds nothing that was said, or None for one to keep."""
    if role not in ("user", "assistant"):
        return f"{role or 'unknown'} message"
    if not text and sequence(fields.get("tool_calls")):
        return "tool call"
    source = reach(fields, "additional_kwargs", "lc_source")
    if source == "summarization" or (role == "user" and text.startswith(_SUMMARY)):
        return "compaction summary"
    return None
