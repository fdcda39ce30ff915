"""Reader of environment variables; no other module reads them.

It imports almost nothing, because a hook of a coding agent imports it before each prompt.
"""

import json
import os

PREFIX = "memsense_"


def read_variable(name: str) -> str | None:
    """Return a variable of another program, such as its folder; None if it is unset or empty."""
    return os.environ.get(name) or None


def setting_variables() -> dict[str, str]:
    """Return the name of the variable of each setting that has one."""
    return {
        name.lower().removeprefix(PREFIX): name
        for name in os.environ
        if name.lower().startswith(PREFIX)
    }


def read_setting_variables() -> list[tuple[str, str]]:
    """Return the settings that variables set, with the variables' texts, sorted by name."""
    return sorted((name, os.environ[variable]) for name, variable in setting_variables().items())


def split_folders(text: str) -> list[str]:
    """Return the folders of a variable: a JSON list, or paths with os.pathsep between them.

    Raises ValueError for a text that begins as a JSON list and is none.
    """
    if not text.lstrip().startswith("["):
        return [path for path in text.split(os.pathsep) if path.strip()]
    try:
        return [str(path) for path in json.loads(text)]
    except json.JSONDecodeError:
        raise ValueError('it must be a JSON list such as ["/home/ada/private"]') from None


def default_user() -> str:
    """Return the default user of a person's agents: MEMSENSE_USER, else the login name."""
    names = map(read_variable, ("MEMSENSE_USER", "USER", "LOGNAME", "USERNAME"))
    return next(filter(None, names), "default")
