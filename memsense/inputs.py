"""The gate for what callers hand over: types that check and clean, and errors that tell.

An error names the argument, what came, and what is taken. Ids and names that PostgreSQL can't hold
are refused, since cleaning would make one of two; in texts such characters become U+FFFD.
"""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from functools import wraps
from numbers import Integral, Real
from reprlib import Repr
from typing import Annotated, Any, ParamSpec, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from memsense.config import tell_fault
from memsense.errors import InvalidInputError
from memsense.text.sanitising import sanitise
from memsense.types import JsonValue

P = ParamSpec("P")
R = TypeVar("R")

LONGEST_SHOWN = 60
"""Characters of a refused value that an error shows."""

LONGEST_ID = 500
"""Characters of an id or a name: what an index of PostgreSQL can hold of any script."""

LONGEST_NOTE = 10_000
LARGEST_LIMIT = 1_000_000
LARGEST_BIGINT = 2**63 - 1

EARLIEST = datetime(100, 1, 1, tzinfo=UTC)
END = datetime(9900, 1, 1, tzinfo=UTC)
"""Times leave a century to either side of what Python and PostgreSQL hold: for zones, and for what
a question counts back and forth."""

DEEPEST_JSON = 32
LARGEST_JSON = 1_000_000
"""Characters and values that a metadata may hold in all."""


# Reading a call's arguments ----------------------------------------------------------------------


class Input(BaseModel):
    """Checked values from outside; making one raises InvalidInputError for the first bad value."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InvalidInputError(_tell(error)) from None

    @classmethod
    def read(cls, **values: Any) -> Self:
        """As the constructor, of values that may still have to be read, such as ISO 8601 times."""
        return cls(**values)


def takes(**types: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Checks and cleans the arguments of these names before the function sees them.

        @takes(chunk_id=ChunkId, reason=Note | None)
        def forget(self, chunk_id: int, *, reason: str | None = None) -> list[int]: ...

    Calling it raises InvalidInputError for the first bad argument.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        if unknown := types.keys() - parameters.keys():
            raise TypeError(f"{function.__qualname__} has no parameter {', '.join(unknown)}")
        gates = {name: Gate(kind, name) for name, kind in types.items()}
        places = {place: gates[name] for place, name in enumerate(parameters) if name in gates}
        kinds = [parameter.kind for parameter in parameters.values()]
        rest = next((n for n in places if kinds[n] is inspect.Parameter.VAR_POSITIONAL), None)
        if any(kinds[place] is inspect.Parameter.VAR_KEYWORD for place in places):
            raise TypeError(f"{function.__qualname__} takes keywords of any name")
        unchecked: Callable[..., R] = function

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            # Signature.bind would cost a search more than all that is checked here.
            given = [
                places[place](value) if place in places else value
                for place, value in enumerate(args[:rest])
            ]
            if rest is not None:
                given += places[rest](args[rest:])
            named = {
                name: gates[name](value) if name in gates else value
                for name, value in kwargs.items()
            }
            return unchecked(*given, **named)

        return checked

    return decorate


class Gate:
    """Reads values of one type; a value that is none raises InvalidInputError under the name."""

    def __init__(self, kind: Any, name: str) -> None:
        self._kind = kind
        self._name = name
        self._adapter: TypeAdapter[Any] | None = None

    def __call__(self, value: object) -> Any:
        """The value, checked and cleaned."""
        if self._adapter is None:  # made at first use: most processes use few
            self._adapter = TypeAdapter(self._kind, config=_config_for(self._kind))
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise InvalidInputError(_tell(error, self._name)) from None


def _config_for(kind: Any) -> ConfigDict | None:
    """A model brings its own configuration, and pydantic lets nobody give it another."""
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return None if is_model else ConfigDict(arbitrary_types_allowed=True)


_WORDS = {"missing": "is missing", "extra_forbidden": "is unknown"}


def _tell(error: ValidationError, name: str = "") -> str:
    found = error.errors(include_url=False)[0]
    places = (name, *found["loc"]) if name else found["loc"]
    told = ".".join(str(place) for place in places) or "value"
    message = tell_fault(found["msg"])
    if found["type"] == "value_error":
        return f"{told} {message}"
    if found["type"] in _WORDS:
        return f"{told} {_WORDS[found['type']]}"
    return f"{told}: {message}, not {shorten(found['input'])}"


class _Short(Repr):
    """Shows any value in bounded time: no number's thousands of digits, no depths of a nest."""

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 (reprlib's signature)
        """The number, or how large it is."""
        bits = x.bit_length()
        return repr(x) if bits <= 4 * LONGEST_SHOWN else f"a number of {bits:,} bits"


_SHORT = _Short()
_SHORT.maxlevel = 3
_SHORT.maxstring = _SHORT.maxother = 2 * LONGEST_SHOWN


def shorten(value: object) -> str:
    """The value as an error shows it."""
    told = _SHORT.repr(value)
    return told if len(told) <= LONGEST_SHOWN else told[: LONGEST_SHOWN - 1] + "…"


def refused(wanted: str, value: object) -> ValueError:
    """The error of a validator that wants something else."""
    return ValueError(f"{wanted}, not {shorten(value)}")


# Texts, ids and names ----------------------------------------------------------------------------


def clean_text(text: str) -> str:
    """The text as PostgreSQL can hold it: NUL and lone surrogates become U+FFFD."""
    return sanitise(text)[0]


def find_id_fault(text: str) -> str | None:
    """Why the text can't be an id or a name; None if it can."""
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_ID:
        return f"is longer than {LONGEST_ID} characters"
    if sanitise(text)[1]:
        return "holds a NUL character" if "\x00" in text else "holds half a surrogate pair"
    return None


def _read_name(value: object) -> str:
    if not isinstance(value, str):
        raise refused("must be a text", value)
    if fault := find_id_fault(value):
        raise ValueError(f"{fault}: {shorten(value)}")
    return str.__str__(value)


def _read_id(value: object) -> str:
    whole = _as_whole(value)
    if whole is not None and abs(whole) <= LARGEST_BIGINT:
        return str(whole)
    if whole is not None:
        raise refused("must be a text or a whole number of 64 bits", whole)
    if not isinstance(value, str):
        raise refused("must be a text or a whole number", value)
    return _read_name(value)


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise refused("must be a text", value)
    return clean_text(value)


def _read_note(value: object) -> str:
    text = _read_text(value)
    if len(text) > LONGEST_NOTE:
        raise ValueError(f"has {len(text):,} characters; at most {LONGEST_NOTE:,} are taken")
    return text


Id = Annotated[str, BeforeValidator(_read_id)]
"""A text of 1 to 500 characters, not all blank; a whole number is taken as its digits."""

Name = Annotated[str, BeforeValidator(_read_name)]
"""As `Id`, of texts alone."""


def say_whose(user_id: str | None, all_users: bool) -> str | None:
    """Whose memory a call means: a user's, or None for everybody's.

    Raises InvalidInputError for a call that says neither, or both.
    """
    if user_id is None and not all_users:
        raise InvalidInputError(
            "user_id is missing: say whose memory is meant, or all_users=True for everybody's"
        )
    if user_id is not None and all_users:
        raise InvalidInputError("all_users and user_id exclude each other: give one of them")
    return user_id


Text = Annotated[str, BeforeValidator(_read_text)]
"""Any text, cleaned."""

Note = Annotated[str, BeforeValidator(_read_note)]
"""A text of at most 10,000 characters, cleaned."""


# Lists and mappings ------------------------------------------------------------------------------


def _read_list(value: object) -> object:
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes | bytearray):
        return tuple(cast("Sequence[object]", value))
    raise refused("must be a list", value)


def _read_chunk_or_message(value: object) -> int | str:
    if isinstance(value, str):
        return _read_name(value)
    return _read_bigint(value)


def _read_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    raise refused("must be a mapping", value)


AsMapping = BeforeValidator(_read_mapping)
"""Any mapping, as a dict."""

AsList = BeforeValidator(_read_list)
"""A list, tuple or set; one text is none."""

Ids = Annotated[Sequence[Id], AsList]
Names = Annotated[Sequence[Name], AsList]


# Numbers and switches ----------------------------------------------------------------------------


def _as_whole(value: object) -> int | None:
    """The whole number of whichever library; None for what is none, and for True and False."""
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


def whole_number(low: int, high: int) -> BeforeValidator:
    """Takes whole numbers from `low` to `high`, of whichever library; no fractions, no bool."""

    def read(value: object) -> int:
        whole = _as_whole(value)
        if whole is None or not low <= whole <= high:
            raise refused(f"must be a whole number from {low:,} to {high:,}", value)
        return whole

    return BeforeValidator(read)


def number(low: float, high: float) -> BeforeValidator:
    """Takes finite numbers from `low` to `high`; no bool."""

    def read(value: object) -> float:
        found = _as_number(value)
        if found is None or not low <= found <= high:
            raise refused(f"must be a number from {low:,} to {high:,}", value)
        return found

    return BeforeValidator(read)


def _read_finite(value: object) -> float:
    found = _as_number(value)
    if found is None or not math.isfinite(found):
        raise refused("must be a finite number", value)
    return found


_bigint = whole_number(1, LARGEST_BIGINT)
_read_bigint = cast("Callable[[object], int]", _bigint.func)

ChunkId = Annotated[int, _bigint]
Limit = Annotated[int, whole_number(1, LARGEST_LIMIT)]
Share = Annotated[float, number(0, 1)]
FiniteNumber = Annotated[float, BeforeValidator(_read_finite)]
Switch = Annotated[bool, Field(strict=True)]
Callback = Callable[..., object]

ChunksAndMessages = Annotated[
    Sequence[Annotated[int | str, BeforeValidator(_read_chunk_or_message)]], AsList
]
"""A list of chunk ids (int) and message ids (str)."""


# Times -------------------------------------------------------------------------------------------


def read_local_time(value: object) -> datetime:
    """A datetime or an ISO 8601 text as an aware datetime in its own zone; no zone means UTC.

    Raises ValueError, also for what no database holds.
    """
    given = value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise refused("must be an ISO 8601 time", value) from None
    if not isinstance(value, datetime):
        raise refused("must be a datetime or an ISO 8601 text", value)
    try:
        local = value if is_zoned(value) else value.replace(tzinfo=UTC)
        usable = EARLIEST <= local.astimezone(UTC) < END
    except (OverflowError, ValueError, NotImplementedError):
        usable = False
    if not usable:
        years = f"{EARLIEST.year} to {END.year - 1}"
        raise refused(f"must lie in the years {years}", given)
    return local  # pyright: ignore[reportPossiblyUnboundVariable]


def is_zoned(moment: datetime) -> bool:
    """Whether the datetime says how far it is from UTC."""
    return moment.utcoffset() is not None


def _read_time(value: object) -> datetime:
    return read_local_time(value).astimezone(UTC)


Time = Annotated[datetime, BeforeValidator(_read_time)]
"""A datetime, or an ISO 8601 text, in UTC; without a zone it is UTC."""

LocalTime = Annotated[datetime, BeforeValidator(read_local_time)]
"""As `Time`, in its own zone, whose days a question means."""


_DURATION = re.compile(r"([0-9]{1,9}) ?([smhdw])")

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

LONGEST_TTL = timedelta(days=36_500)

NEVER = "never"


def _read_ttl(value: object) -> timedelta | str:
    if value == NEVER:
        return NEVER
    return _read_duration(value, " or 'never'")


def _read_duration(value: object, otherwise: str = "") -> timedelta:
    given = value
    if isinstance(value, str) and (found := _DURATION.fullmatch(value.strip())):
        number, unit = found.groups()
        value = timedelta(**{_UNITS[unit]: int(number)})
    if not isinstance(value, timedelta):
        wanted = f"must be a timedelta, or a text such as 45s, 90m, 12h, 30d or 4w{otherwise}"
        raise refused(wanted, given)
    if not timedelta(0) < value <= LONGEST_TTL:
        raise refused("must be longer than nothing and at most 100 years", given)
    return value


Duration = Annotated[timedelta, BeforeValidator(_read_duration)]
"""A timedelta, or a text such as `30d`, of at most 100 years."""

Ttl = Annotated[timedelta | str, BeforeValidator(_read_ttl)]
"""As `Duration`, or NEVER."""


# JSON --------------------------------------------------------------------------------------------


class _JsonCopy:
    """Copies a value that JSON can hold, its texts cleaned, within the limits of depth and size."""

    def __init__(self) -> None:
        self._left = LARGEST_JSON

    def mapping(self, given: Mapping[Any, Any], depth: int = 1) -> dict[str, JsonValue]:
        """The copy of an object."""
        return {self._key(key): self._value(value, depth) for key, value in given.items()}

    def _key(self, key: object) -> str:
        if not isinstance(key, str) or sanitise(key)[1]:
            raise ValueError(f"holds the key {shorten(key)}; a key is a text without NUL")
        self._spend(len(key))
        return str.__str__(key)

    def _value(self, value: object, depth: int) -> JsonValue:
        self._spend(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._spend(len(value))
            return clean_text(value)
        if isinstance(value, Real):
            return _read_json_number(value)
        if not isinstance(value, Mapping | list | tuple):
            raise refused("takes texts, numbers, True, False, None, lists and mappings", value)
        if depth == DEEPEST_JSON:
            raise ValueError(f"is nested more than {DEEPEST_JSON} levels deep")
        if isinstance(value, Mapping):
            return self.mapping(cast("Mapping[Any, Any]", value), depth + 1)
        return [self._value(item, depth + 1) for item in cast("Sequence[object]", value)]

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError(f"is too large: at most {LARGEST_JSON:,} characters and values")


def _read_json_number(value: Real) -> int | float:
    number = _as_number(value)
    if number is None or not math.isfinite(number):
        raise ValueError(f"holds {shorten(value)}, which is no number of JSON")
    whole = _as_whole(value)
    return number if whole is None else whole


def _read_metadata(value: object) -> dict[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise refused("must be a mapping", value)
    return _JsonCopy().mapping(cast("Mapping[Any, Any]", value))


Metadata = Annotated[Mapping[str, Any], BeforeValidator(_read_metadata)]
"""What JSON can hold, at most 32 levels deep and 1,000,000 characters and values in all."""


# What has methods --------------------------------------------------------------------------------


def having(*names: str) -> BeforeValidator:
    """Takes objects that have these attributes, none of which is asked for its value."""

    def read(value: object) -> object:
        absent = object()
        if isinstance(value, type) or any(
            inspect.getattr_static(value, name, absent) is absent for name in names
        ):
            raise ValueError(f"must be an object with {', '.join(names)}, not {shorten(value)}")
        return value

    return BeforeValidator(read)
