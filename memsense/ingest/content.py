"""The text of a message's content: a string, parts, or blocks of many kinds; and who speaks."""

from collections.abc import Iterator
from typing import Final

from memsense.ingest.values import identifier, mapping, string
from memsense.types import JsonValue, Role

TEXT_KINDS = frozenset({"text", "input_text", "output_text", "refusal", "voice_note"})
# The words that logs use for who speaks: one table, so that every reader agrees on them.
_WORDS: Final[dict[Role, str]] = {
    "user": "user human humanmessage humanmessagechunk prompter",
    "assistant": (
        "assistant ai aimessage aimessagechunk model bot gpt chatgpt claude gemini bard bing qwen "
        "agent"
    ),
    "system": "system developer systemmessage",
    "tool": (
        "tool function function_call function_response functionmessage toolmessage observation "
        "tool_call tool_result toolresult ipython"
    ),
}
_ROLES: Final[dict[str, Role]] = {
    word: role for role, words in _WORDS.items() for word in words.split()
}


def text_blocks(content: JsonValue, kinds: frozenset[str] = TEXT_KINDS) -> Iterator[str]:
    """Yield the texts of a content: itself, or those of its blocks of these kinds, never a tool's.

    A block without a type is text if it holds some. Blank texts are left out.
    """
    items = content if isinstance(content, list) else [content]
    for item in items:
        if isinstance(item, str):
            text = item
        else:
            block = mapping(item)
            kind = block.get("type")
            if (kind is not None and string(kind) not in kinds) or block.get("thought") is True:
                continue
            # LLaMA-Factory writes a text block's words under `value`, OpenAI's Assistants a level
            # deeper: {"text": {"value": ...}}.
            values = (block.get(key) for key in ("text", "value", "refusal"))
            texts = (string(value) or string(mapping(value).get("value")) for value in values)
            text = next(filter(None, texts), "")
        if text.strip():
            yield text


def content_text(content: JsonValue, kinds: frozenset[str] = TEXT_KINDS) -> str:
    """Return all texts of a content, with a blank line between two."""
    return "\n\n".join(text_blocks(content, kinds))


def join_texts(*texts: str) -> str:
    """Join the texts that are not empty, with a blank line between two."""
    return "\n\n".join(text for text in texts if text)


def format_file(name: JsonValue) -> str:
    """Return `[file: name]` for an attachment; empty if it has no name."""
    file_name = identifier(name)
    return f"[file: {file_name}]" if file_name else ""


def role_of(word: str) -> Role | None:
    """Return the role a word stands for, or None for a person's name or an unknown word."""
    return _ROLES.get(word.strip().lower().replace("-", "_"))
