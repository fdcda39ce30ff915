"""Says of an empty answer which names of its filters nothing has."""

from collections.abc import Sequence

from memsense.db.connection import Connection
from memsense.search.request import SearchRequest
from memsense.store import Namespace, fetch_known_names
from memsense.text.nearest import did_you_mean


def absence_notes(
    connection: Connection, namespace: Namespace, request: SearchRequest
) -> list[str]:
    """A note for each user, session, agent and tag that is unknown; one statement, if any is named.

    Sessions, agents and tags are looked for in the memory that was searched.
    """
    filters = request.filters
    named: dict[str, Sequence[str]] = {
        "user": [request.user_id] if request.user_id is not None else [],
        "session": filters.session_ids or (),
        "agent": [filters.agent_id] if filters.agent_id is not None else [],
        "tag": filters.tags or (),
    }
    wanted = [kind for kind, names in named.items() if names]
    if not wanted:
        return []
    known = fetch_known_names(connection, namespace, request.user_id, wanted)
    return [
        f"no {kind} {name!r} is stored here{did_you_mean(name, known[kind])}"
        for kind in wanted
        for name in named[kind]
        if name not in known[kind]
    ]
