"""LangChain's four shapes of a message: its fields, who speaks, and whether anything is said.

Its reader uses them, and what takes messages from callers.
"""

from memsense.ingest.values import JsonObject, mapping, reach, sequence, string

_SUMMARY = "Here is a summary of the conversation to date"


def message_fields(record: JsonObject) -> JsonObject:
    """The message proper, out of its envelope: `kwargs` of a dump, `data` of a dict."""
    for key in ("kwargs", "data"):
        if inner := mapping(record.get(key)):
            return inner
    return record


def message_type(record: JsonObject) -> str:
    """The word for who speaks, such as human or ai, in whichever of the shapes."""
    if record.get("lc") is None:
        return string(record.get("type"))
    name = next((string(part) for part in reversed(sequence(record.get("id")))), "")
    kind = string(message_fields(record).get("type"))
    return kind or name.removesuffix("Chunk").removesuffix("Message").lower()


def reason_to_skip(fields: JsonObject, role: str | None, text: str) -> str | None:
    """Why a message holds nothing that was said; None for what is kept."""
    if role not in ("user", "assistant"):
        return f"{role or 'unknown'} message"
    if not text and sequence(fields.get("tool_calls")):
        return "tool call"
    source = reach(fields, "additional_kwargs", "lc_source")
    if source == "summarization" or (role == "user" and text.startswith(_SUMMARY)):
        return "compaction summary"
    return None
