"""Reads the environment; no other module does.

It imports next to nothing, so that a hook of a coding agent has an answer at once.
"""

import os

PREFIX = "memsense_"


def read_variable(name: str) -> str | None:
    """A variable of another program, such as where it keeps its files; None if unset or empty."""
    return os.environ.get(name) or None


def setting_variables() -> dict[str, str]:
    """The variable that sets each setting."""
    return {
        name.lower().removeprefix(PREFIX): name
        for name in os.environ
        if name.lower().startswith(PREFIX)
    }


def settings_given() -> list[tuple[str, str]]:
    """Each setting that a variable sets, with the text of it, in order."""
    return sorted((name, os.environ[found]) for name, found in setting_variables().items())


def default_user() -> str:
    """Whose memory a person's own agents use, where nobody says: MEMSENSE_USER, else the login."""
    named = map(read_variable, ("MEMSENSE_USER", "USER", "LOGNAME", "USERNAME"))
    return next(filter(None, named), "default")
