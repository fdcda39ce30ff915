"""What a failed command says, and the code it ends with."""

from memsense.errors import (
    ConfigurationError,
    ConnectionFailedError,
    InvalidInputError,
    MemSenseError,
    ModelMismatchError,
    SchemaError,
    ServerTooOldError,
)

FAILED = 1
"""Nothing was found or usable, or the operation failed."""

UNUSABLE = 2
"""The call, the settings, the connection or the schema must be changed first."""

SIGNALLED = 128
"""Plus the signal's number, as shells count."""

INTERRUPTED = 130

_UNUSABLE = (
    ConfigurationError,
    ConnectionFailedError,
    InvalidInputError,
    ModelMismatchError,
    SchemaError,
    ServerTooOldError,
)


def exit_code(error: MemSenseError) -> int:
    """2 where the caller must change something first, else 1."""
    return UNUSABLE if isinstance(error, _UNUSABLE) else FAILED


def one_line(error: MemSenseError) -> str:
    """The error as one line for people."""
    return f"memsense: {' '.join(str(error).split())}"
