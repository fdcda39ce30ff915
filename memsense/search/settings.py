"""The settings of a namespace: their names and values, and the profile that results.

Nothing here reads or writes a database; `Tuner` does, under a lock.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal, cast

from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.inputs import LARGEST_BIGINT, Checker, shorten
from memsense.search.profiles import BALANCED, PROFILES, TUNABLE, Profile, read_profile
from memsense.search.question.time.calendar import Calendar
from memsense.search.request import SearchRequest
from memsense.store.scopes import Namespace
from memsense.store.settings import Change, StoredSetting
from memsense.text.nearest import did_you_mean
from memsense.text.secrets import read_kinds
from memsense.timezones import ZoneName, place_in_zone

CHOICES: Mapping[str, tuple[str, ...]] = {
    "date_order": ("both", "dmy", "mdy"),
    "embedder_failure": ("error", "lexical"),
    "hemisphere": ("north", "south"),
    "history": ("off", "on"),
    "on_expiry": ("erase", "forget"),
    "on_quota": ("refuse", "archive"),
    "redact": ("all", "logs", "off"),
    "week_start": ("monday", "sunday", "saturday"),
}
"""Settings that are one of several words, with their values, the default first."""

QUOTA = "user_quota"
"""Name of the setting with the most exchanges that each user may have; 0 for no limit."""

REDACT_KINDS = "redact_kinds"
"""Name of the setting with the kinds of secrets that are replaced."""

CALENDAR_SETTINGS = ("week_start", "hemisphere", "date_order")
"""Settings of the calendar in addition to the zone."""

TIMEZONE = "timezone"
"""Name of the setting with the zone of those who ask, "" for none; a call's own comes first."""

NAMESPACE_DEFAULTS: Mapping[str, str | int] = {
    **{name: words[0] for name, words in CHOICES.items()},
    QUOTA: 0,
    TIMEZONE: "",
    REDACT_KINDS: "all",
}
"""Settings that are no constants of a profile, with their defaults."""

SETTING_NAMES: tuple[str, ...] = ("profile", *NAMESPACE_DEFAULTS, *TUNABLE)
"""The names of all settings."""

REMOVED: frozenset[str] = frozenset(
    {
        "asked_name_weight",
        "asks_weight",
        "event_weight",
        "neighbour_weight",
        "question_windows",
        "request_neighbours",
        "session_weight",
        "speaker_bonus",
        "tokens_near_weight",
        "tokens_other_weight",
        "when_time_weight",
    }
)
"""Constants of earlier versions. A namespace may still have settings of them, which do nothing."""

TTL = "ttl"
"""Name of the setting with the rules by which memories expire; `memory.ttl` changes it."""

LONGEST_TTL = 1e11
"""Seconds: more years than a date can express."""

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
        """Return the setting of that name; raise KeyError if there is none."""
        return {setting.name: setting for setting in self.settings}[name]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {"version": self.version, "settings": [asdict(item) for item in self.settings]}


def find_profile(namespace: Namespace | None, name: str) -> Profile:
    """Return the shipped profile of that name, else the namespace's; raise NotFoundError."""
    if name in PROFILES:
        return PROFILES[name]
    if namespace is not None and name in namespace.profiles:
        return read_profile(namespace.profiles[name])
    names = [*PROFILES, *sorted(namespace.profiles if namespace else ())]
    raise NotFoundError(
        f"no profile named {name!r}; there are {', '.join(names)}{did_you_mean(name, names)}"
    )


def default_profile(namespace: Namespace | None, name: str) -> Profile:
    """Return the profile that the environment names; raise ConfigurationError if unknown."""
    try:
        return find_profile(namespace, name)
    except NotFoundError as error:
        raise ConfigurationError(f"MEMSENSE_PROFILE: {error}") from error


def tuned_profile(namespace: Namespace, default: str) -> Profile:
    """Return the profile set in the database, else `default`, with the constants set on top.

    Constants that left memsense are ignored; `memsense doctor` names them. Raises
    ConfigurationError for other settings that another version of memsense has made, and for an
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
        if name not in ("profile", TTL) and name not in NAMESPACE_DEFAULTS and name not in REMOVED
    }


def choose_calendar(
    namespace: Namespace, request: SearchRequest, now: datetime | None = None
) -> tuple[datetime, Calendar]:
    """Return when a question is asked, in the asker's zone, and the calendar by which it is read.

    The zone is the call's, else the setting's, else that of an aware `asked_at`, else UTC.

    Args:
        namespace: Its settings count as far as the request has no calendar of its own.
        request: The request.
        now: The moment of a question that does not say when it is asked.
    """
    recorded = request.calendar or {}
    settings: dict[str, Any] = {**NAMESPACE_DEFAULTS, **namespace.settings, **recorded}
    zone_name = request.timezone or settings[TIMEZONE]
    asked_at = place_in_zone(request.asked_at or now, zone_name)
    assert asked_at.tzinfo is not None
    of_calendar = {name: settings[name] for name in CALENDAR_SETTINGS}
    return asked_at, Calendar(zone=asked_at.tzinfo, **of_calendar)


def embedder_failure(namespace: Namespace) -> str:
    """Return the action when a question can't be embedded: "error" or "lexical"."""
    return namespace.settings.get("embedder_failure", CHOICES["embedder_failure"][0])


def plan_settings(namespace: Namespace, changes: Mapping[str, object]) -> list[Change]:
    """Return the changes that set these values, where they differ; raise ConfigurationError."""
    if TTL in changes:
        raise ConfigurationError("the rules by which memories expire are set by 'memsense ttl set'")
    if unknown := sorted(changes.keys() - set(SETTING_NAMES)):
        raise ConfigurationError(
            f"no setting named {', '.join(unknown)}{did_you_mean(unknown, SETTING_NAMES)}"
            " (memsense settings show lists them)"
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
    quota = changes.get(QUOTA, 0)
    if not isinstance(quota, int) or isinstance(quota, bool) or not 0 <= quota <= LARGEST_BIGINT:
        raise ConfigurationError(
            f"{QUOTA} must be a whole number of exchanges, or 0 for no limit, not {shorten(quota)}"
        )
    if TIMEZONE in changes:
        try:
            Checker(ZoneName, TIMEZONE)(changes[TIMEZONE])
        except InvalidInputError as error:
            raise ConfigurationError(str(error)) from error
    if REDACT_KINDS in changes:
        read_kinds(changes[REDACT_KINDS])
    name = changes.get("profile", "balanced")
    if not isinstance(name, str):
        raise ConfigurationError(f"the setting profile is a profile's name, not {shorten(name)}")
    try:
        find_profile(namespace, name)
    except NotFoundError as error:
        raise ConfigurationError(str(error)) from error
    BALANCED.vary(_constants(changes))


def plan_reset(namespace: Namespace, names: Iterable[str]) -> list[Change]:
    """Return the changes that reset these settings, or all but expiry's; raise for unknown ones."""
    requested = list(names)
    if unknown := sorted(set(requested) - set(SETTING_NAMES) - namespace.settings.keys()):
        raise ConfigurationError(
            f"no setting named {', '.join(unknown)}{did_you_mean(unknown, SETTING_NAMES)}"
            " (memsense settings show lists them)"
        )
    return [
        Change(kind="setting", name=name, before=namespace.settings[name], after=None)
        for name in dict.fromkeys(requested or namespace.settings)
        if name in namespace.settings and (requested or name != TTL)
    ]


def plan_import(
    namespace: Namespace,
    settings: Mapping[str, Any],
    profiles: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Change], list[str]]:
    """Return the changes that import another namespace's settings, and the names left out.

    A name is left out if this namespace has set something else or has another profile of that
    name, and if it is one of `REMOVED`. Raises ConfigurationError for other settings that this
    version doesn't know.
    """
    imported = {name: _read_imported(name, constants) for name, constants in profiles.items()}
    existing = [name for name in imported if name in PROFILES or name in namespace.profiles]
    left = [n for n in existing if namespace.profiles.get(n) != imported[n].as_dict()]
    left += sorted(REMOVED & settings.keys())
    settings = {name: value for name, value in settings.items() if name not in REMOVED}
    changes = [
        Change(kind="profile", name=name, before=None, after=profile.as_dict())
        for name, profile in imported.items()
        if name not in existing
    ]
    own = {name: profile.as_dict() for name, profile in imported.items() if name not in existing}
    merged = replace(namespace, profiles={**namespace.profiles, **own})
    _check_ttl(settings.get(TTL, {}))
    plan_settings(merged, {name: value for name, value in settings.items() if name != TTL})
    for name, value in settings.items():
        before = namespace.settings.get(name)
        if before is None and not (name == "profile" and value in left):
            changes.append(Change(kind="setting", name=name, before=None, after=value))
        elif before != value:
            left.append(name)
    return changes, left


def _read_imported(name: str, constants: Mapping[str, Any]) -> Profile:
    """Return a profile that comes from a file."""
    if not _PROFILE_NAME.fullmatch(name) or constants.get("name") != name:
        raise ConfigurationError(f"{shorten(name)} is no profile as memsense stores them")
    try:
        return read_profile(constants)
    except TypeError as error:
        raise ConfigurationError(f"profile {name!r} can't be read: {error}") from error


def _check_ttl(rules: object) -> None:
    pairs = cast("Mapping[object, object]", rules) if isinstance(rules, Mapping) else {None: None}
    for tag, seconds in pairs.items():
        is_span = isinstance(seconds, int | float) and 0 < seconds < LONGEST_TTL
        if not isinstance(tag, str) or isinstance(seconds, bool) or not is_span:
            value = shorten(cast("object", rules))
            raise ConfigurationError(f"{value} are no rules by which memories expire")


def plan_profile(namespace: Namespace, profile: Profile) -> list[Change]:
    """Return the change that stores a profile with all constants; raise InvalidInputError."""
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
    """Return the change that deletes a stored profile; raise InvalidInputError or NotFoundError."""
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
    """Return every setting in force, on top of a profile from `origin` unless an argument."""
    defaults = [
        Setting(name="profile", value=name, origin=origin),
        *(Setting(name=n, value=v, origin="default") for n, v in NAMESPACE_DEFAULTS.items()),
        *(Setting(name=n, value=v, origin="profile") for n, v in profile.constants().items()),
    ]
    settings = {setting.name: setting for setting in defaults}
    for row in stored:
        if row.name == TTL or row.name in REMOVED:
            continue
        if origin != "argument" or row.name in NAMESPACE_DEFAULTS:
            settings[row.name] = Setting(
                name=row.name,
                value=row.value,
                origin="database",
                changed_by=row.changed_by,
                changed_at=row.changed_at,
            )
    return SettingsInForce(version=version, settings=list(settings.values()))


def check_past(kept_since: datetime | None, as_of: datetime) -> None:
    """Raise ConfigurationError if no past is kept for that moment."""
    if kept_since is None:
        raise ConfigurationError(
            "the past of this namespace is not kept: 'memsense settings set history=on' keeps it"
            " from then on"
        )
    if as_of < kept_since:
        raise ConfigurationError(
            f"the past is kept since {kept_since.isoformat(timespec='seconds')}, when the setting"
            " history was set or older history was dropped: nothing is known of"
            f" {as_of.isoformat(timespec='seconds')}"
        )
