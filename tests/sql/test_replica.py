"""A replica that is no standby; tests/faults/test_replica.py has those that are."""

import logging
from collections.abc import Callable

import pytest

from memsense import MemSense
from memsense.config import Settings
from memsense.errors import ConfigurationError

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


def test_an_address_of_a_replica_that_is_none_is_an_error_of_its_setting(database_url: str) -> None:
    settings = Settings(database_url=database_url, replica_url="standby.example")
    with pytest.raises(ConfigurationError, match="^MEMSENSE_REPLICA_URL: it is not"):
        MemSense.open(settings=settings)


def test_a_replica_that_can_not_be_reached_is_told_by_its_setting(
    open_memory: OpenMemory, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    away = "postgresql://nobody@127.0.0.1:1/memories"
    memory = open_memory(settings=Settings(database_url=database_url, replica_url=away))
    memory.add("I drink tea.", user_id="ada")
    with caplog.at_level(logging.WARNING, "memsense.replica"):
        assert len(memory.search("tea", user_id="ada")) == 1
    assert "the replica is left alone" in caplog.text
    assert "check MEMSENSE_REPLICA_URL" in caplog.text
