"""What the settings of a namespace mean: which names and values there are, which profile results.

Nothing here reads or writes a database; `Tuner` does, under a lock.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal, cast

from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.inputs import shorten
from memsense.search.profiles import BALANCED, PROFILES, TUNABLE, Profile, read_profile
from memsense.store import Namespace
from memsense.store.settings import Change, StoredSetting
from memsense.text.nearest import did_you_mean

CHOICES: Mapping[str, tuple[str, ...]] = {
    "embedder_failure": ("error", "lexical"),
    "history": ("off", "on"),
    "on_expiry": ("erase", "forget"),
}
"""Settings that are no constant of a profile, and their values, the default first."""

KNOWN: tuple[str, ...] = ("profile", *CHOICES, *TUNABLE)
"""The names of all settings."""

TTL = "ttl"
"""Holds the rules by which memories expire, which `memory.ttl` changes."""

LONGEST_TTL = 1e11
"""Seconds: more years than a date can name."""

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
        name: value
        for name, value in settings.items()
        if name not in ("profile", TTL) and name not in CHOICES
    }


def embedder_failure(namespace: Namespace) -> str:
    """What a search does when its question can't be embedded: "error" or "lexical"."""
    return namespace.settings.get("embedder_failure", CHOICES["embedder_failure"][0])


def plan_settings(namespace: Namespace, changes: Mapping[str, object]) -> list[Change]:
    """The changes that set these values; raises ConfigurationError.

    What has its value already is no change.
    """
    if TTL in changes:
        raise ConfigurationError("the rules by which memories expire are set by 'memsense ttl set'")
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
    """The changes that take these settings back, those that are set; without names all of them but
    the rules by which memories expire. Raises ConfigurationError.
    """
    wanted = list(names)
    if unknown := sorted(set(wanted) - set(KNOWN) - namespace.settings.keys()):
        raise ConfigurationError(
            f"no setting named {', '.join(unknown)}; known: {', '.join(sorted(KNOWN))}"
            f"{did_you_mean(unknown, KNOWN)}"
        )
    return [
        Change(kind="setting", name=name, before=namespace.settings[name], after=None)
        for name in dict.fromkeys(wanted or namespace.settings)
        if name in namespace.settings and (wanted or name != TTL)
    ]


def plan_import(
    namespace: Namespace,
    settings: Mapping[str, Any],
    profiles: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Change], list[str]]:
    """The changes that set what another namespace had set, and the names of what stays unset, since
    this one has set something else or ships a profile of that name.

    Raises ConfigurationError for what this memsense doesn't know.
    """
    given = {name: _read_given(name, constants) for name, constants in profiles.items()}
    taken = [name for name in given if name in PROFILES or name in namespace.profiles]
    left = [name for name in taken if namespace.profiles.get(name) != given[name].as_dict()]
    changes = [
        Change(kind="profile", name=name, before=None, after=profile.as_dict())
        for name, profile in given.items()
        if name not in taken
    ]
    own = {name: profile.as_dict() for name, profile in given.items() if name not in taken}
    known = replace(namespace, profiles={**namespace.profiles, **own})
    _check_ttl(settings.get(TTL, {}))
    plan_settings(known, {name: value for name, value in settings.items() if name != TTL})
    for name, value in settings.items():
        before = namespace.settings.get(name)
        if before is None and not (name == "profile" and value in left):
            changes.append(Change(kind="setting", name=name, before=None, after=value))
        elif before != value:
            left.append(name)
    return changes, left


def _read_given(name: str, constants: Mapping[str, Any]) -> Profile:
    """A profile that comes from outside."""
    if not _PROFILE_NAME.fullmatch(name) or constants.get("name") != name:
        raise ConfigurationError(f"{shorten(name)} is no profile as memsense stores them")
    try:
        return read_profile(constants)
    except TypeError as error:
        raise ConfigurationError(f"profile {name!r} can't be read: {error}") from error


def _check_ttl(rules: object) -> None:
    found = cast("Mapping[object, object]", rules) if isinstance(rules, Mapping) else {None: None}
    for tag, seconds in found.items():
        if not isinstance(tag, str) or not _is_span(seconds):
            told = shorten(cast("object", rules))
            raise ConfigurationError(f"{told} are no rules by which memories expire")


def _is_span(seconds: object) -> bool:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return False
    return 0 < seconds < LONGEST_TTL


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
        if row.name != TTL and (origin != "argument" or row.name in CHOICES):
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


def check_past(kept_since: datetime | None, as_of: datetime) -> None:
    """Raise ConfigurationError for a moment of which no past is kept."""
    if kept_since is None:
        raise ConfigurationError(
            "the past of this namespace is not kept: 'memsense settings set history=on' keeps it"
            " from then on"
        )
    if as_of < kept_since:
        raise ConfigurationError(
            f"the past is kept since {kept_since.isoformat(timespec='seconds')}, when the setting"
            f" history was set: nothing is known of {as_of.isoformat(timespec='seconds')}"
        )
