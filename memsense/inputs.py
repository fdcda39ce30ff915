"""The gate for what callers hand over: types that check and clean, and errors that tell.

An error names the argument, what came, and what is taken.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from memsense.config import tell_fault
from memsense.errors import InvalidInputError
from memsense.text.sanitising import sanitise

LONGEST_SHOWN = 60
"""Characters of a refused value that an error shows."""


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


def _tell(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    name = ".".join(str(place) for place in found["loc"]) or "value"
    message = tell_fault(found["msg"])
    if found["type"] == "value_error":
        return f"{name} {message}"
    return f"{name}: {message}, not {shorten(found['input'])}"


def shorten(value: object) -> str:
    """The value as an error shows it."""
    told = repr(value)
    return told if len(told) <= LONGEST_SHOWN else told[: LONGEST_SHOWN - 1] + "…"


def check_limit(limit: int) -> None:
    """Raise InvalidInputError for a number of results that is no such number."""
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")


def clean_text(text: str) -> str:
    """The text as PostgreSQL can hold it: NUL and lone surrogates become U+FFFD."""
    return sanitise(text)[0]


def read_time(value: object, name: str) -> datetime | None:
    """A datetime or an ISO 8601 text as an aware datetime; no zone means UTC."""
    if value is None:
        return None
    try:
        return _read_time(value)
    except ValueError as error:
        raise InvalidInputError(f"{name} {error}") from error


def _read_time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"must be an ISO 8601 time, not {shorten(value)}") from None
    if value is not None and not isinstance(value, datetime):
        raise ValueError(f"must be a datetime or an ISO 8601 text, not {shorten(value)}")
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def _read_list(value: object) -> object:
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes):
        return tuple(cast("Sequence[object]", value))
    raise ValueError(f"must be a list, not {shorten(value)}")


Time = Annotated[datetime, BeforeValidator(_read_time)]
"""A datetime, or an ISO 8601 text; without a zone it is UTC."""

Texts = Annotated[Sequence[str], BeforeValidator(_read_list)]
"""A list of texts; one text is none."""

Ids = Annotated[Sequence[int | str], BeforeValidator(_read_list)]
"""A list of chunk ids (int) and message ids (str)."""
