"""Takes out what a memory or a hook put into a message: what was recalled is never stored again.

One list of wrappers serves every reader, because every message goes through the same builder.
"""

import re
from typing import Final

WRAPPERS: Final = (
    "memsense-context",
    "hook_context",  # Gemini CLI and its kin
    "user-prompt-submit-hook",  # Claude Code
    "session-start-hook",
    "system-reminder",
    "system_reminder",
    "relevant-memories",  # OpenClaw's plugins
    "relevant_memories",
    "memory-context",
    "memory_context",
    "recalled_memories",
    "hindsight_memories",
    "hindsight_context",
    "supermemory-context",
    "claude-mem-context",
    "openviking-context",
)
"""Tags that hooks and memories put around what they inject."""

_OPENING = re.compile(rf"<({'|'.join(WRAPPERS)})(?:\s[^<>\n]{{0,200}})?>")


def strip_injected(text: str, *, keep_lines: bool = False) -> tuple[str, int]:
    """The text without injected blocks, and how many there were.

    A tag that nothing closes is a person's own word and stays. `keep_lines` leaves the line ends
    of a block, so that what follows keeps its line number.
    """
    pieces: list[str] = []
    end = count = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        name = opening[1]
        if opening.start() < end or name in unclosed:
            continue
        closing = text.find(f"</{name}>", opening.end())
        if closing < 0:
            unclosed.add(name)
            continue
        pieces.append(text[end : opening.start()])
        end = closing + len(name) + 3
        count += 1
        if keep_lines:
            pieces.append("\n" * text.count("\n", opening.start(), end))
    return ("".join([*pieces, text[end:]]), count) if count else (text, 0)
