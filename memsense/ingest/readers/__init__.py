"""The readers of all formats, in the order in which detection asks them.

A new format is a module here with a `READER`, and a line in `READERS`, before any reader whose
`sniff` would also recognise it.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from memsense.ingest.reader import Reader
from memsense.ingest.readers import (
    ai_sdk,
    aider,
    antigravity,
    chatgpt,
    claude_ai,
    claude_code,
    cline,
    codex,
    copilot,
    cursor,
    deepseek,
    droid,
    gemini_cli,
    gemini_takeout,
    goose,
    grok,
    imessage,
    kimi,
    langchain,
    langfuse,
    lobechat,
    locomo,
    longmemeval,
    messenger,
    open_webui,
    openai_messages,
    openai_responses,
    openclaw,
    opencode,
    qwen_code,
    rows,
    sharegpt,
    signal,
    slack,
    specstory,
    text,
    transcript,
    whatsapp,
)

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        module.READER.name: module.READER
        for module in (
            claude_code,
            qwen_code,
            droid,
            openclaw,
            opencode,
            cline,
            copilot,
            antigravity,
            kimi,
            cursor,
            codex,
            openai_responses,
            gemini_cli,
            gemini_takeout,
            deepseek,
            chatgpt,
            claude_ai,
            grok,
            goose,
            open_webui,
            lobechat,
            messenger,
            ai_sdk,
            langfuse,
            longmemeval,
            locomo,
            sharegpt,
            langchain,
            slack,
            openai_messages,
            rows,
            specstory,
            aider,
            imessage,
            signal,
            whatsapp,
            transcript,
            text,
        )
    }
)

_FIRST_GENERIC = "ai_sdk"
GENERIC: Sequence[str] = tuple(READERS)[list(READERS).index(_FIRST_GENERIC) :]
"""Readers of forms that many programs write: they are asked after the formats of one program."""
