"""The words that logs use for who speaks, in one table."""

from typing import Final

from memsense.types import Role

_WORDS: Final[dict[Role, str]] = {
    "user": "user human humanmessage humanmessagechunk prompter",
    "assistant": (
        "assistant ai aimessage aimessagechunk model bot gpt chatgpt claude gemini bard bing agent"
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
    """The role a word stands for, None where it stands for a person or nothing known."""
    return _ROLES.get(word.strip().lower().replace("-", "_"))
