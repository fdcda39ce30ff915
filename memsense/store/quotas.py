"""Quotas: the most exchanges that each user of a namespace may have."""

from collections.abc import Sequence

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_values
from memsense.errors import QuotaExceededError
from memsense.store import writes
from memsense.store.lifecycle import retire
from memsense.store.scopes import Namespace, Scope, find_chunk_scope


def keep_quota(
    connection: Connection,
    namespace: Namespace,
    scope: Scope,
    added: Sequence[int],
    embed: writes.Embed,
    *,
    user_id: str,
    session_id: str,
) -> None:
    """Keep a user within the quota after a write that added these chunks to a session.

    Runs in the write's transaction, whose lock on the memory lets no other write in between. The
    oldest exchanges are archived if the setting `on_quota` is "archive", except for those that were
    promoted or added by this write.

    Raises QuotaExceededError if the user has too many all the same; the transaction must be rolled
    back.
    """
    quota = scope.quota
    if quota is None:
        return
    key = {**scope.key, "quota": quota.limit}
    # Sessions stored as a whole have session chunks and no exchanges, so either kind is limited.
    excess: list[tuple[str, int]] = fetch_all(connection, "find_excess", key)
    if excess and quota.archives:
        for granularity, count in excess:
            limits = {"spared": list(added), "limit": count - quota.limit}
            values = {**key, "granularity": granularity, **limits}
            oldest: list[int] = fetch_values(connection, "select_oldest", values)
            for chunk_id in oldest:
                place = find_chunk_scope(connection, namespace, chunk_id, followers=scope.followers)
                reason = f"quota of {quota.limit:,} exchanges"
                retire(connection, place, "archived", reason, embed)
        excess = fetch_all(connection, "find_excess", key)
    if excess:
        raise QuotaExceededError(
            f"user {user_id!r} may have {quota.limit:,} exchanges in namespace"
            f" {namespace.name!r} and would have {excess[0][1]:,} with session {session_id!r};"
            " nothing of it was written. Forget or archive memories of this user, or raise the"
            " limit with 'memsense settings set user_quota=N'"
        )
