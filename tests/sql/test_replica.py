"""A replica that is no standby; tests/faults/test_replica.py has those that are."""

from collections.abc import Callable

from memsense import MemSense
from memsense.config import Settings

OpenMemory = Callable[..., MemSense]


def test_a_server_that_is_no_standby_has_replayed_nothing(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(settings=Settings(database_url=database_url, replica_url=database_url))
    memory.add("I drink tea.", user_id="ada")
    assert [hit.chunk.user_text for hit in memory.search("tea", user_id="ada")] == ["I drink tea."]
    replica = memory._context._place.replica  # pyright: ignore[reportPrivateUsage]
    assert replica is not None
    mark = replica._state.mark  # pyright: ignore[reportPrivateUsage]
    assert mark is not None
    assert mark.place
    assert not mark.is_reached
