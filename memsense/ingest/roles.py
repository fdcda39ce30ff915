"""The words that logs use for who speaks: one table, so that every reader agrees on them."""

from typing import Final

from memsense.types import Role

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


def role_of(word: str) -> Role | None:
    """Return the role a word stands for, or None for a person's name or an unknown word."""
    return _ROLES.get(word.strip().lower().replace("-", "_"))
