"""Exceptions of memsense: all of them derive from MemSenseError."""


class MemSenseError(Exception):
    """Base class of all errors that memsense raises. The message names the remedy."""


class ConfigurationError(MemSenseError):
    """A setting, profile or option has an unusable value.

    The message names the variable or option if the value came from one, says what is wrong, and
    what is accepted: "MEMSENSE_POOL_TIMEOUT: input should be a valid number".
    """


class DatabaseError(MemSenseError):
    """PostgreSQL refused a statement or failed to run it; the driver's error is the cause.

    `committed` is False if a write was not stored, or None if its outcome is unknown.
    """

    committed: bool | None = False


class ConnectionFailedError(DatabaseError):
    """No connection: the server is down, the login was refused, or all pooled ones were busy."""


class OutcomeUnknownError(ConnectionFailedError):
    """The connection was lost during a commit, so it is unknown whether the write is stored.

    Repeat the write with its `key` (`promote(..., key=error.key)`): it is then done exactly once.
    An `add` may be repeated without a key, because its content identifies it.
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
    """Concurrent transactions made every attempt fail; nothing was written."""


class DiskFullError(DatabaseError):
    """The server has no room to write; nothing was written."""


class ReadOnlyServerError(DatabaseError):
    """The server takes no writes: it is a standby, or its administrator has set it to read-only."""


class DataRefusedError(DatabaseError):
    """PostgreSQL can't store a value: too long for an index, out of range, or malformed."""


class SchemaError(DatabaseError):
    """The memsense schema is missing, behind or ahead of this version of memsense."""


class TenantSuspendedError(DatabaseError):
    """An operator has suspended the tenant: its rows stay, and calls for it are refused."""


class ErasureError(DatabaseError):
    """An erasure would have left data behind, so nothing was erased."""


class CallTimeoutError(MemSenseError, TimeoutError):
    """A call took longer than its `timeout`.

    `committed` is as in DatabaseError: False if a write was not stored.
    """

    committed: bool | None = False


class EmbeddingError(MemSenseError):
    """The embedder failed, or returned vectors of the wrong shape or with NaN."""


class ModelMismatchError(EmbeddingError):
    """The store holds vectors of another model or dimension than the embedder's."""


class InvalidInputError(MemSenseError):
    """An argument can't be used: an empty question, a message without text, a bad range."""


class UnknownArgumentError(InvalidInputError, TypeError):
    """A call passed an argument that the method does not have; the text names the nearest one.

    It is a TypeError too, because that is what Python raises for an unknown keyword.
    """


class NotFoundError(MemSenseError):
    """No chunk, trace, profile or project of that name in the caller's scope."""


class ConflictError(MemSenseError):
    """Another client changed the chunk since the caller read it."""


class VersionConflictError(ConflictError):
    """Error of a change whose caller has read another version; nothing was changed."""


class QuotaExceededError(MemSenseError):
    """A user's exchanges would be more than the namespace allows; nothing was written.

    The setting `user_quota` has the limit.
    """


class IngestError(MemSenseError):
    """A log can't be read: unknown format, unreadable file, nothing usable inside."""


class RerankerError(MemSenseError):
    """The optional reranking service failed or answered something unusable."""


class EvaluationError(MemSenseError):
    """A gold set can't be read, or two result files can't be compared."""
