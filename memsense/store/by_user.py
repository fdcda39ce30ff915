"""Work on the memories of a namespace, one user after another."""

from collections.abc import Callable

from memsense.db import Pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.rows import fetch_values
from memsense.errors import NotFoundError
from memsense.store.scopes import Namespace, Scope, lock_scope


def work_by_user(
    pool: Pool,
    namespace: Namespace,
    user_id: str | None,
    work: Callable[[Connection, Scope], int],
    on_user: Callable[[str, int], object],
) -> int:
    """Do the work on the locked memory of each user, or of the one who is named.

    Each user is one transaction, for which that user's writes wait.

    Args:
        pool: Pool of the database.
        namespace: Namespace of the users.
        user_id: Only this user's memory; None for all users'.
        work: Work on one locked memory; returns a number, such as that of the chunks read.
        on_user: Called after each user's transaction with the id and that number.

    Returns:
        The sum of these numbers.

    Raises:
        NotFoundError: If nothing is stored for the user who is named.
    """
    values = {**namespace.key, "user_id": user_id}
    users: list[str] = run_read(pool, lambda it: fetch_values(it, "list_users", values))
    if user_id is not None and not users:
        raise NotFoundError(f"nothing is stored for user {user_id!r}")
    total = 0
    for user in users:

        def work_on(connection: Connection, user: str = user) -> int:
            return work(connection, lock_scope(connection, namespace, user))

        number = run_transaction(pool, work_on)
        total += number
        on_user(user, number)
    return total
