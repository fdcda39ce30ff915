"""What the settings of a namespace mean: which names and values there are, which profile results.

Nothing here reads or writes a database; `Tuner` does, under a lock.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.inputs import shorten
from memsense.search.profiles import BALANCED, PROFILES, TUNABLE, Profile, read_profile
from memsense.store import Namespace
from memsense.store.settings import Change, StoredSetting
from memsense.text.nearest import did_you_mean

CHOICES: Mapping[str, tuple[str, ...]] = {"embedder_failure": ("error", "lexical")}
"""Settings that are no constant of a profile, and their values, the default first."""

KNOWN: tuple[str, ...] = ("profile", *CHOICES, *TUNABLE)
"""The names of all settings."""

Origin = Literal["database", "profile", "argument", "environment", "default"]

_PROFILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting's value in force, and where it comes from.

    `origin` is "database" for what `set_settings` set, "profile" for a weight or constant of the
    profile in force, "argument" for the profile given to `MemSense.open`, else "environment" or
    "default". Only the database knows who changed it, and when.
    """

    name: str
    value: Any
    origin: Origin
    changed_by: str | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsInForce:
    """Every setting of a namespace; `version` counts the changes made to them."""

    version: int
    settings: Sequence[Setting]

    def __getitem__(self, name: str) -> Setting:
        """The setting of that name; raises KeyError."""
        return {setting.name: setting for setting in self.settings}[name]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {"version": self.version, "settings": [asdict(item) for item in self.settings]}


def find_profile(namespace: Namespace | None, name: str) -> Profile:
    """The shipped profile of that name, else the namespace's; NotFoundError lists what there is."""
    if name in PROFILES:
        return PROFILES[name]
    if namespace is not None and name in namespace.profiles:
        return read_profile(namespace.profiles[name])
    known = [*PROFILES, *sorted(namespace.profiles if namespace else ())]
    raise NotFoundError(
        f"no profile named {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}"
    )


def default_profile(namespace: Namespace | None, name: str) -> Profile:
    """The profile that the environment names; raises ConfigurationError for an unknown one."""
    try:
        return find_profile(namespace, name)
    except NotFoundError as error:
        raise ConfigurationError(f"MEMSENSE_PROFILE: {error}") from error


def tuned_profile(namespace: Namespace, default: str) -> Profile:
    """The profile that is set in the database, else `default`, with what is set one by one.

    Raises ConfigurationError for settings that another version of memsense has made, and for an
    unknown default.
    """
    name = namespace.settings.get("profile")
    base = find_profile(namespace, name) if name else default_profile(namespace, default)
    try:
        return base.vary(_constants(namespace.settings))
    except ConfigurationError as error:
        raise ConfigurationError(
            f"a setting of namespace {namespace.name!r} can't be used: {error};"
            " run 'memsense settings reset NAME'"
        ) from error


def _constants(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in settings.items() if name != "profile" and name not in CHOICES
    }


def embedder_failure(namespace: Namespace) -> str:
    """What a search does when its question can't be embedded: "error" or "lexical"."""
    return namespace.settings.get("embedder_failure", CHOICES["embedder_failure"][0])


def plan_settings(namespace: Namespace, changes: Mapping[str, object]) -> list[Change]:
    """The changes that set these values; raises ConfigurationError.

    What has its value already is no change.
    """
    if unknown := sorted(changes.keys() - set(KNOWN)):
        raise ConfigurationError(
            f"no setting named {', '.join(unknown)}; known: {', '.join(sorted(KNOWN))}"
            f"{did_you_mean(unknown, KNOWN)}"
        )
    _check_settings(namespace, changes)
    before = namespace.settings
    return [
        Change(kind="setting", name=name, before=before.get(name), after=value)
        for name, value in changes.items()
        if name not in before or before[name] != value
    ]


def _check_settings(namespace: Namespace, changes: Mapping[str, object]) -> None:
    for name, choices in CHOICES.items():
        if name in changes and changes[name] not in choices:
            raise ConfigurationError(
                f"{name} must be {' or '.join(choices)}, not {shorten(changes[name])}"
            )
    if "profile" in changes:
        _check_profile(namespace, changes["profile"])
    BALANCED.vary(_constants(changes))


def _check_profile(namespace: Namespace, name: object) -> None:
    if not isinstance(name, str):
        raise ConfigurationError(f"the setting profile is a profile's name, not {shorten(name)}")
    try:
        find_profile(namespace, name)
    except NotFoundError as error:
        raise ConfigurationError(str(error)) from error


def plan_reset(namespace: Namespace, names: Iterable[str]) -> list[Change]:
    """The changes that take these settings back, those that are set; ConfigurationError."""
    wanted = list(names)
    if unknown := sorted(set(wanted) - set(KNOWN) - namespace.settings.keys()):
        raise ConfigurationError(
            f"no setting named {', '.join(unknown)}; known: {', '.join(sorted(KNOWN))}"
            f"{did_you_mean(unknown, KNOWN)}"
        )
    return [
        Change(kind="setting", name=name, before=namespace.settings[name], after=None)
        for name in dict.fromkeys(wanted or namespace.settings)
        if name in namespace.settings
    ]


def plan_profile(namespace: Namespace, profile: Profile) -> list[Change]:
    """The change that stores a profile with all of its constants; raises InvalidInputError."""
    name = profile.name
    if not _PROFILE_NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} is no name for a profile: use up to 100 letters, digits and . _ -"
        )
    if name in PROFILES or name in namespace.profiles:
        whose = "memsense ships" if name in PROFILES else "there is already"
        raise InvalidInputError(f"{whose} a profile named {name!r}; choose another name")
    return [Change(kind="profile", name=name, before=None, after=profile.as_dict())]


def plan_removal(namespace: Namespace, name: str) -> list[Change]:
    """The change that deletes a stored profile; raises InvalidInputError or NotFoundError."""
    if name in PROFILES:
        raise InvalidInputError(f"profile {name!r} is shipped with memsense and stays")
    stored = find_profile(namespace, name)
    if namespace.settings.get("profile") == name:
        raise InvalidInputError(
            f"profile {name!r} is in use; set another one or reset the setting profile first"
        )
    return [Change(kind="profile", name=stored.name, before=stored.as_dict(), after=None)]


def describe_settings(
    stored: Iterable[StoredSetting], *, version: int, profile: Profile, name: str, origin: Origin
) -> SettingsInForce:
    """Every setting in force where `profile` ranks, which is called `name` and from `origin`.

    A profile given as an argument is taken as it is, so what is set on top isn't in force.
    """
    given = [
        Setting(name="profile", value=name, origin=origin),
        *(Setting(name=n, value=words[0], origin="default") for n, words in CHOICES.items()),
        *(Setting(name=n, value=v, origin="profile") for n, v in profile.constants().items()),
    ]
    found = {setting.name: setting for setting in given}
    for row in stored:
        if origin != "argument" or row.name in CHOICES:
            found[row.name] = _as_setting(row)
    return SettingsInForce(version=version, settings=list(found.values()))


def _as_setting(row: StoredSetting) -> Setting:
    return Setting(
        name=row.name,
        value=row.value,
        origin="database",
        changed_by=row.changed_by,
        changed_at=row.changed_at,
    )
