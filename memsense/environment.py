"""Reader of environment variables; no other module reads them.

It imports almost nothing, because a hook of a coding agent imports it before each prompt.
"""

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


def default_user() -> str:
    """Return the default user of a person's agents: MEMSENSE_USER, else the login name."""
    names = map(read_variable, ("MEMSENSE_USER", "USER", "LOGNAME", "USERNAME"))
    return next(filter(None, names), "default")
