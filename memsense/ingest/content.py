"""Takes the words out of message content: a string, parts, or blocks of many kinds."""

from collections.abc import Iterator

from memsense.ingest.values import JsonObject, identifier, mapping, string
from memsense.types import JsonValue

TEXT_KINDS = frozenset({"text", "input_text", "output_text", "refusal", "voice_note"})


def text_blocks(content: JsonValue, kinds: frozenset[str] = TEXT_KINDS) -> Iterator[str]:
    """The texts of a content: itself, or those of its blocks of these kinds, never a tool's.

    A block without a type is taken for text where it holds some. Blank texts are left out.
    """
    items = content if isinstance(content, list) else [content]
    for item in items:
        text = item if isinstance(item, str) else _block_text(mapping(item), kinds)
        if text.strip():
            yield text


def joined_text(content: JsonValue, kinds: frozenset[str] = TEXT_KINDS) -> str:
    """All texts of a content, a blank line between two."""
    return "\n\n".join(text_blocks(content, kinds))


def named_file(name: JsonValue) -> str:
    """How an attachment is told: by its name alone; empty where it has none."""
    known = identifier(name)
    return f"[file: {known}]" if known else ""


def _block_text(block: JsonObject, kinds: frozenset[str]) -> str:
    kind = block.get("type")
    if kind is not None and string(kind) not in kinds:
        return ""
    if block.get("thought") is True:
        return ""
    for key in ("text", "value", "refusal"):
        value = block.get(key)
        if words := string(value) or string(mapping(value).get("value")):
            return words
    return ""
