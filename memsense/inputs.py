"""Argument types that check and clean what callers pass in, with errors that say what to do.

An error names the argument, the value, and what is accepted. Ids and names that PostgreSQL cannot
store are refused, because cleaning could turn two ids into one; in texts such characters become
U+FFFD. `memsense.declaration` applies these types to the public methods.
"""

import inspect
import math
import re
import types
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from numbers import Integral, Real
from reprlib import Repr
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import CoreSchema, core_schema

from memsense.config import describe_fault
from memsense.errors import InvalidInputError
from memsense.types import JsonValue

LONGEST_SHOWN = 60
"""Characters of a refused value that an error shows."""

LONGEST_ID = 500
"""Characters of an id or a name: PostgreSQL can index that many of any script."""

LONGEST_NOTE = 10_000
LARGEST_LIMIT = 1_000_000
LARGEST_BIGINT = 2**63 - 1

EARLIEST = datetime(100, 1, 1, tzinfo=UTC)
END = datetime(9900, 1, 1, tzinfo=UTC)
"""Times stay a century away from what Python and PostgreSQL can hold: time zones and questions
such as "three weeks before" move them."""

DEEPEST_JSON = 32
LARGEST_JSON = 1_000_000
"""Characters and values that a metadata object may hold in all."""

REPLACEMENT = "\ufffd"
# `text` refuses NUL, and UTF-8 has no half of a surrogate pair ("\ud83d" in JSON).
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def sanitise(text: str) -> tuple[str, int]:
    """Return the text with NUL and lone surrogates as U+FFFD, and how many there were."""
    # The check takes a tenth of the search's time, and most texts are ASCII.
    if text.isascii() and "\x00" not in text:
        return text, 0
    return _UNSTORABLE.subn(REPLACEMENT, text)


def about(text: str) -> Any:
    """Return the annotation that gives a parameter's type its text for `Args:` and the faces."""
    return Field(description=text)


# Checking values ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)  # hashed by identity: unions hash their members
class Check:
    """Annotation of a type: `read` checks and cleans a value before pydantic sees it.

    `read` raises ValueError with a text that continues the argument's name ("must be a text").
    `schema` is the JSON schema of what HTTP and MCP accept; without it, the type's own. Where
    `is_whole`, the value is checked by `read` alone: pydantic needs no schema of its type.
    """

    read: Callable[[Any], Any]
    schema: Mapping[str, Any] | None = None
    is_whole: bool = False

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        if self.is_whole:
            return core_schema.no_info_plain_validator_function(self.read)
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return dict(self.schema) if self.schema is not None else handler(schema)


class Input(BaseModel):
    """Object of checked values; creating one raises InvalidInputError for the first bad value."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InvalidInputError(_describe(error)) from None


class Checker:
    """Checker of values of one type; a bad value raises InvalidInputError with the name."""

    def __init__(self, kind: Any, name: str) -> None:
        self._kind = kind
        self._name = name
        self._adapter: TypeAdapter[Any] | None = None

    def __call__(self, value: object) -> Any:
        """Return the value, checked and cleaned."""
        if self._adapter is None:
            # Built at first use: an adapter takes a millisecond, and most processes use few.
            # A pydantic model brings its own configuration and accepts no other.
            kind = _as_read(self._kind)
            is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
            config = None if is_model else ConfigDict(arbitrary_types_allowed=True)
            self._adapter = TypeAdapter(cast("Any", kind), config=config)
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise InvalidInputError(_describe(error, self._name)) from None


def _as_read(kind: Any) -> Any:
    """Return a type with Any in place of what a whole check reads: it may not be imported yet."""
    origin, items = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner, *extras = items
        is_whole = any(isinstance(it, Check) and it.is_whole for it in extras)
        kind = Any if is_whole else _as_read(inner)
        for extra in extras:
            kind = Annotated[kind, extra]
        return kind
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_as_read, items))]  # noqa: UP007 (made at run time)
    return Sequence[_as_read(items[0])] if origin is Sequence else kind


_PHRASES = {"missing": "is missing", "extra_forbidden": "is unknown"}


def _describe(error: ValidationError, name: str = "") -> str:
    fault = error.errors(include_url=False)[0]
    path = (name, *fault["loc"]) if name else fault["loc"]
    return describe_argument_fault(fault, ".".join(str(part) for part in path) or "value")


def describe_argument_fault(fault: Mapping[str, Any], place: str) -> str:
    """Return one fault that pydantic found, in the same words for Python, HTTP and MCP.

    Args:
        fault: An item of pydantic's `errors()`.
        place: Name of the argument, with the place inside it: `tags.0`.
    """
    message = describe_fault(fault["msg"])
    if fault["type"] == "value_error":  # a check's own text, which continues the name
        return f"{place} {message}"
    if fault["type"] in _PHRASES:
        return f"{place} {_PHRASES[fault['type']]}"
    if fault["type"] in ("int_parsing", "int_type", "int_from_float"):
        return f"{place} must be a whole number, not {shorten(fault.get('input'))}"
    return f"{place}: {message}, not {shorten(fault.get('input'))}"


class _Short(Repr):
    """Repr in bounded time: no number of thousands of digits, no deeply nested list."""

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 (reprlib's signature)
        """Return the number's digits, or its size in bits if it is very large."""
        bits = x.bit_length()
        return repr(x) if bits <= 4 * LONGEST_SHOWN else f"a number of {bits:,} bits"


_SHORT = _Short()
_SHORT.maxlevel = 3
_SHORT.maxstring = _SHORT.maxother = 2 * LONGEST_SHOWN


def shorten(value: object) -> str:
    """Return the value as an error message shows it, at most 60 characters."""
    text = _SHORT.repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def wrong_value(expected: str, value: object) -> ValueError:
    """Return the error of a check: what it expects ("must be a text"), and what came instead."""
    return ValueError(f"{expected}, not {shorten(value)}")


# Texts, ids and names ----------------------------------------------------------------------------


def clean_text(text: str) -> str:
    """Return the text as PostgreSQL can store it: NUL and lone surrogates become U+FFFD."""
    return sanitise(text)[0]


def find_id_fault(text: str) -> str | None:
    """Return why the text can't be an id or a name, or None if it can."""
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_ID:
        return f"is longer than {LONGEST_ID} characters"
    if sanitise(text)[1]:
        return "holds a NUL character" if "\x00" in text else "holds half a surrogate pair"
    return None


def _read_name(value: object) -> str:
    if not isinstance(value, str):
        raise wrong_value("must be a text", value)
    if fault := find_id_fault(value):
        raise ValueError(f"{fault}: {shorten(value)}")
    return str.__str__(value)


def _read_id(value: object) -> str:
    number = _as_integer(value)
    if number is not None and abs(number) <= LARGEST_BIGINT:
        return str(number)
    if number is not None:
        raise wrong_value("must be a text or a whole number of 64 bits", number)
    if not isinstance(value, str):
        raise wrong_value("must be a text or a whole number", value)
    return _read_name(value)


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise wrong_value("must be a text", value)
    return clean_text(value)


def _read_note(value: object) -> str:
    text = _read_text(value)
    if len(text) > LONGEST_NOTE:
        raise ValueError(f"has {len(text):,} characters; at most {LONGEST_NOTE:,} are taken")
    return text


VISIBLE = r"[^\s\x00-\x20]"
"""Pattern of the character that an id must hold at least one of."""

_NAME_SCHEMA = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": VISIBLE}

Id = Annotated[str, Check(_read_id, _NAME_SCHEMA)]
"""Text of 1 to 500 characters, not all blank; a whole number is accepted as its digits."""

Name = Annotated[str, Check(_read_name, _NAME_SCHEMA)]
"""As `Id`, but texts only."""

Text = Annotated[str, Check(_read_text, {"type": "string", "maxLength": 1_000_000})]
"""Any text, cleaned."""

Note = Annotated[str, Check(_read_note, {"type": "string", "maxLength": LONGEST_NOTE})]
"""Text of at most 10,000 characters, cleaned."""


def require_user(user_id: str | None, all_users: bool) -> str | None:
    """Return the user that a call is about, or None for all users.

    Raises InvalidInputError if the call names neither, or both.
    """
    if user_id is None and not all_users:
        raise InvalidInputError(
            "user_id is missing: pass user_id='…', or all_users=True to read everybody's memory"
        )
    if user_id is not None and all_users:
        raise InvalidInputError("user_id and all_users exclude each other: pass one of them")
    return user_id


# Lists and mappings ------------------------------------------------------------------------------


def _read_list(value: object) -> object:
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes | bytearray):
        return tuple(cast("Sequence[object]", value))
    raise wrong_value("must be a list", value)


def _read_chunk_or_message(value: object) -> int | str:
    if isinstance(value, str):
        return _read_name(value)
    return _read_chunk_id(value)


def _read_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    raise wrong_value("must be a mapping", value)


AsMapping = Check(_read_mapping)
"""Accepts any mapping, as a dict."""

AsList = Check(_read_list)
"""Accepts a list, tuple or set, as a tuple; a text is no list."""

Ids = Annotated[Sequence[Id], AsList]
Names = Annotated[Sequence[Name], AsList]


def mapping_of(*names: str, noun: str = "") -> Check:
    """Return a check of mappings whose keys are all among `names`; an error calls a key `noun`."""

    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            raise wrong_value("must be a mapping", value)
        fields = dict(cast("Mapping[object, object]", value))
        if unknown := [key for key in fields if key not in names]:
            keys = ", ".join(map(shorten, unknown))
            raise ValueError(f"has no {noun}{keys}; there are {', '.join(names)}")
        return fields

    return Check(read)


# Numbers and switches ----------------------------------------------------------------------------


def _as_integer(value: object) -> int | None:
    """Return the value as an int if it is a whole number of any library, bool excepted."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return int(value)


def _as_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def whole_number(low: int, high: int) -> Check:
    """Return a check of whole numbers from `low` to `high`, of any library; no bool."""

    def read(value: object) -> int:
        number = _as_integer(value)
        if number is None or not low <= number <= high:
            raise wrong_value(f"must be a whole number from {low:,} to {high:,}", value)
        return number

    return Check(read, {"type": "integer", "minimum": low, "maximum": high})


def printable_name(owner: str, longest: int) -> AfterValidator:
    """Return a check of a name of at most `longest` printable characters."""

    def check(name: str) -> str:
        if len(name) > longest or not name.isprintable():
            raise ValueError(
                f"is no name for a {owner}: use up to {longest} printable characters, not"
                f" {shorten(name)}"
            )
        return name

    return AfterValidator(check)


def number(low: float, high: float) -> Check:
    """Return a check of finite numbers from `low` to `high`; no bool."""

    def read(value: object) -> float:
        number = _as_number(value)
        if number is None or not low <= number <= high:
            raise wrong_value(f"must be a number from {low:,} to {high:,}", value)
        return number

    return Check(read, {"type": "number", "minimum": low, "maximum": high})


def _read_finite(value: object) -> float:
    number = _as_number(value)
    if number is None or not math.isfinite(number):
        raise wrong_value("must be a finite number", value)
    return number


_chunk_id = whole_number(1, LARGEST_BIGINT)
_read_chunk_id = _chunk_id.read

ChunkId = Annotated[int, _chunk_id]
Limit = Annotated[int, whole_number(1, LARGEST_LIMIT)]
Share = Annotated[float, number(0, 1)]
FiniteNumber = Annotated[float, Check(_read_finite, {"type": "number"})]
Switch = Annotated[bool, Field(strict=True)]
Callback = Callable[..., object]


def _read_tokenizer(value: object) -> object:
    if callable(value) or callable(getattr(value, "encode", None)):
        return value
    raise wrong_value(
        "must be a function that counts a text's tokens, or have an encode method", value
    )


AnyTokenizer = Annotated[Any, Check(_read_tokenizer)]

ChunksAndMessages = Annotated[
    Sequence[
        Annotated[
            int | str,
            Check(
                _read_chunk_or_message,
                {"anyOf": [dict(_chunk_id.schema or {}), dict(_NAME_SCHEMA)]},
            ),
        ]
    ],
    AsList,
]
"""List of chunk ids (int) and message ids (str)."""


# Times -------------------------------------------------------------------------------------------


def read_wall_time(value: object) -> datetime:
    """Return a datetime or an ISO 8601 text as a datetime in its own zone, or naive without one.

    Raises ValueError, also for times that no database can store.
    """
    moment = value
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise wrong_value("must be an ISO 8601 time", moment) from None
    if not isinstance(moment, datetime):
        raise wrong_value("must be a datetime or an ISO 8601 text", moment)
    try:
        local = moment if has_zone(moment) else moment.replace(tzinfo=UTC)
        is_usable = EARLIEST <= local.astimezone(UTC) < END
    except (OverflowError, ValueError, NotImplementedError):
        is_usable = False
    if not is_usable:
        years = f"{EARLIEST.year} to {END.year - 1}"
        raise wrong_value(f"must lie in the years {years}", value)
    return moment


def read_local_time(value: object) -> datetime:
    """Return a datetime or an ISO 8601 text as an aware datetime in its own zone; no zone is UTC.

    Raises ValueError as `read_wall_time`.
    """
    moment = read_wall_time(value)
    return moment if has_zone(moment) else moment.replace(tzinfo=UTC)


def has_zone(moment: datetime) -> bool:
    """Return whether the datetime has an offset from UTC."""
    return moment.utcoffset() is not None


def _read_time(value: object) -> datetime:
    return read_local_time(value).astimezone(UTC)


_TIME_SCHEMA = {"type": "string", "format": "date-time"}

Time = Annotated[datetime, Check(_read_time, _TIME_SCHEMA)]
"""Datetime or ISO 8601 text, converted to UTC; without a zone it is UTC."""

AnyTime = Annotated[datetime | str, Check(_read_time, _TIME_SCHEMA)]
"""`Time` as public signatures have it: callers may pass texts."""

AnyWallTime = Annotated[datetime | str, Check(read_wall_time, _TIME_SCHEMA)]
"""As `AnyTime`, but not converted: a question's "today" is a day of the asker's zone."""


def checked_time(value: datetime | str | None) -> datetime | None:
    """Return an argument of type `AnyTime` after its check, which leaves no text."""
    assert not isinstance(value, str)
    return value


_DURATION = re.compile(r"([0-9]{1,9}) ?([smhdw])")

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

LONGEST_TTL = timedelta(days=36_500)

NEVER = "never"


def _read_ttl(value: object) -> timedelta | str:
    if value == NEVER:
        return NEVER
    return read_duration(value, " or 'never'")


def read_duration(value: object, otherwise: str = "") -> timedelta:
    """Return a timedelta or a text such as 12h as a timedelta.

    Raises ValueError, which names `otherwise` as a further value.
    """
    duration = value
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        count, unit = match.groups()
        duration = timedelta(**{_UNITS[unit]: int(count)})
    if not isinstance(duration, timedelta):
        expected = f"must be a timedelta, or a text such as 45s, 90m, 12h, 30d or 4w{otherwise}"
        raise wrong_value(expected, value)
    if not timedelta(0) < duration <= LONGEST_TTL:
        raise wrong_value("must be longer than nothing and at most 100 years", value)
    return duration


_DURATION_SCHEMA = {"type": "string", "maxLength": 50, "examples": ["30d"]}

Duration = Annotated[timedelta, Check(read_duration, _DURATION_SCHEMA)]
"""Timedelta or a text such as `30d`, of at most 100 years."""

AnyDuration = Annotated[timedelta | str, Check(read_duration, _DURATION_SCHEMA)]
"""`Duration` as public signatures have it: callers may pass texts."""


def read_gap(value: object) -> timedelta:
    """Return the length of a silence, as `read_duration` does, or 0 for none."""
    is_off = value in ("0", timedelta(0))
    return timedelta(0) if is_off else read_duration(value, ", or 0 for none")


Gap = Annotated[timedelta, Check(read_gap, _DURATION_SCHEMA)]
"""Length of a silence; 0 for none."""

AnyGap = Annotated[timedelta | str, Check(read_gap, _DURATION_SCHEMA)]
"""`Gap` as public signatures have it: callers may pass texts."""

Ttl = Annotated[timedelta | str, Check(_read_ttl, _DURATION_SCHEMA)]
"""As `Duration`, or NEVER."""


# JSON --------------------------------------------------------------------------------------------


class _JsonCopy:
    """Copier of JSON values: cleans texts and enforces the limits of depth and size."""

    def __init__(self) -> None:
        self._budget = LARGEST_JSON

    def copy_object(self, fields: Mapping[Any, Any], depth: int = 1) -> dict[str, JsonValue]:
        """Return the copy of an object."""
        copy: dict[str, JsonValue] = {}
        for key, value in fields.items():
            if not isinstance(key, str) or sanitise(key)[1]:
                raise ValueError(f"holds the key {shorten(key)}; a key is a text without NUL")
            self._spend(len(key))
            copy[str.__str__(key)] = self._copy_value(value, depth)
        return copy

    def _copy_value(self, value: object, depth: int) -> JsonValue:
        self._spend(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._spend(len(value))
            return clean_text(value)
        if isinstance(value, Real):
            number = _as_number(value)
            if number is None or not math.isfinite(number):
                raise ValueError(f"holds {shorten(value)}, which is no number of JSON")
            integer = _as_integer(value)
            return number if integer is None else integer
        if not isinstance(value, Mapping | list | tuple):
            raise wrong_value("takes texts, numbers, True, False, None, lists and mappings", value)
        if depth == DEEPEST_JSON:
            raise ValueError(f"is nested more than {DEEPEST_JSON} levels deep")
        if isinstance(value, Mapping):
            return self.copy_object(cast("Mapping[Any, Any]", value), depth + 1)
        return [self._copy_value(item, depth + 1) for item in cast("Sequence[object]", value)]

    def _spend(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise ValueError(f"is too large: at most {LARGEST_JSON:,} characters and values")


def read_metadata(value: object) -> dict[str, JsonValue]:
    """Return a copy of a JSON object; raise ValueError for anything else."""
    if not isinstance(value, Mapping):
        raise wrong_value("must be a mapping", value)
    return _JsonCopy().copy_object(cast("Mapping[Any, Any]", value))


METADATA_SCHEMA = {"type": "object", "additionalProperties": True}

Metadata = Annotated[Mapping[str, Any], Check(read_metadata, METADATA_SCHEMA)]
"""Object that JSON can hold: at most 32 levels deep, 1,000,000 characters and values in all."""


# Objects with methods ----------------------------------------------------------------------------


def with_attributes(*names: str) -> Check:
    """Return a check of objects that have these attributes; none is asked for its value."""

    def read(value: object) -> object:
        absent = object()
        if isinstance(value, type) or any(
            inspect.getattr_static(value, name, absent) is absent for name in names
        ):
            raise ValueError(f"must be an object with {', '.join(names)}, not {shorten(value)}")
        return value

    return Check(read, is_whole=True)


def _read_connection(value: object) -> object:
    # Imported here: who passes a connection has the driver already, and most pass none.
    import psycopg

    if not isinstance(value, psycopg.Connection):
        raise wrong_value("must be an open psycopg.Connection", value)
    return cast("object", value)


open_connection = Check(_read_connection, is_whole=True)
"""Check of a connection of psycopg."""
