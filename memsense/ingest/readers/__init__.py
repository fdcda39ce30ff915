"""The readers of all formats, in the order in which detection asks them.

A new format is a module here with a `READER`, and its name in `_NAMES`, before any reader whose
`sniff` would also recognise it.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from memsense.ingest.reading import Reader

_NAMES = """
    claude_code qwen_code droid openclaw opencode cline copilot antigravity kimi cursor codex
    openai_responses gemini_cli gemini_takeout deepseek chatgpt claude_ai grok goose open_webui
    lobechat messenger ai_sdk langfuse longmemeval locomo sharegpt langchain slack
    openai_messages rows specstory aider imessage signal whatsapp transcript text
""".split()

_MODULES = [import_module(f"{__name__}.{name}") for name in _NAMES]
READERS: Mapping[str, Reader] = MappingProxyType({it.READER.name: it.READER for it in _MODULES})

_FIRST_GENERIC = "ai_sdk"
GENERIC: Sequence[str] = tuple(READERS)[list(READERS).index(_FIRST_GENERIC) :]
"""Readers of forms that many programs write: they are asked after the formats of one program."""
