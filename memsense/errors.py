"""The one error tree: everything memsense raises on purpose derives from MemSenseError."""


class MemSenseError(Exception):
    """Base of every error that memsense raises on purpose; its text names the remedy."""


class ConfigurationError(MemSenseError):
    """A setting, profile or option has an unusable value.

    Its text says what is wrong and what would be right, after the name of the variable or option
    where it was read from one: "MEMSENSE_POOL_TIMEOUT: input should be a valid number".
    """


class DatabaseError(MemSenseError):
    """PostgreSQL refused or failed a statement; the driver's error is the cause.

    `committed` says of a write whether it is stored: False, or None where nobody knows.
    """

    committed: bool | None = False


class ConnectionFailedError(DatabaseError):
    """No connection: server down, login refused, or every pooled connection stayed busy."""


class OutcomeUnknownError(ConnectionFailedError):
    """The connection was lost while a write was committed, and nobody can say whether it was.

    Run again under its `key` (`promote(..., key=error.key)`), it is done once, whatever became of
    it; an `add` without a key is known by its content.
    """

    committed = None

    def __init__(self, text: str, *, key: str | None = None) -> None:
        super().__init__(text)
        self.key = key


class ServerTooOldError(DatabaseError):
    """The server is older than memsense supports, or lacks pgvector."""


class StatementTimeoutError(DatabaseError):
    """A statement took longer than the server's statement_timeout allows."""


class RecallTimeoutError(StatementTimeoutError):
    """The recall statement took longer than the setting recall_timeout allows."""


class LockTimeoutError(DatabaseError):
    """Another transaction held a lock for longer than the server's lock_timeout allows."""


class PoolerError(DatabaseError):
    """A connection pooler lost a prepared statement; the text names the setting to change."""


class TransactionConflictError(DatabaseError):
    """Others' transactions were in the way, however often it was tried; nothing was written."""


class DiskFullError(DatabaseError):
    """The server has no room to write; nothing was written."""


class DataRefusedError(DatabaseError):
    """PostgreSQL can't keep a value: too long for an index, out of its range, or malformed."""


class SchemaError(DatabaseError):
    """The memsense schema is missing, behind or ahead of this version of memsense."""


class ErasureError(DatabaseError):
    """Something would have been left of what was to be erased; nothing was erased."""


class EmbeddingError(MemSenseError):
    """The embedder failed, or returned vectors of the wrong shape or with NaN."""


class ModelMismatchError(EmbeddingError):
    """The store holds vectors of another model or dimension than the embedder's."""


class InvalidInputError(MemSenseError):
    """What the caller gave can't be used: empty question, message without text, bad range."""


class UnknownArgumentError(InvalidInputError, TypeError):
    """A call passed an argument that the method does not have; the text names the nearest one.

    It is a TypeError too, because that is what Python raises for an unknown keyword.
    """


class NotFoundError(MemSenseError):
    """No chunk, trace, profile or project of that name in the caller's scope."""


class ConflictError(MemSenseError):
    """Somebody else changed it since the caller looked."""


class IngestError(MemSenseError):
    """A log can't be read: unknown format, unreadable file, nothing usable inside."""


class RerankerError(MemSenseError):
    """The optional reranking service failed or answered something unusable."""


class EvaluationError(MemSenseError):
    """A gold set can't be read, or two result files can't be compared."""
