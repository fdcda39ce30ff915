"""Notes of an empty result on names and times that no memory has."""

from collections.abc import Generator

import pytest

from memsense import MemSense


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    with MemSense.open(database_url) as opened:
        for session in ("kitchen", "garden"):
            opened.add(
                [{"role": "user", "content": f"The walnut stands in the {session}."}],
                user_id="ines",
                session_id=session,
                agent_id="cook",
                tags=["plants"],
                mode="hybrid",
            )
        yield opened


def test_an_empty_result_reports_unknown_names(memory: MemSense) -> None:
    found = memory.search(
        "walnut", user_id="ines", session_ids=["kitchn"], agent_id="cok", tags=["plant"]
    )
    assert list(found.notes) == [
        "no session 'kitchn' is stored here; did you mean 'kitchen'?",
        "no agent 'cok' is stored here; did you mean 'cook'?",
        "no tag 'plant' is stored here; did you mean 'plants'?",
    ]
    assert found.as_dict()["notes"] == list(found.notes)
    assert "did you mean 'ines'?" in memory.search("walnut", user_id="inez").notes[-1]
    assert list(memory.search("walnut", user_id="ines", session_ids=["kitchen", "no"]).notes) == []


def test_since_after_until_is_reported(memory: MemSense) -> None:
    found = memory.search("walnut", user_id="ines", since="2026-05-02", until="2026-05-01")
    assert not found.hits
    assert found.notes[0].startswith("nothing can be since 2026-05-02T00:00:00")


def test_a_forgotten_session_counts_as_its_exchanges(memory: MemSense) -> None:
    memory.indexes.make_sessions()
    sessions = memory.recent(user_id="ines", granularity="session")
    assert len(sessions) == 2
    for chunk in sessions:
        memory.forget(chunk.chunk_id)
    turns = memory.recent(user_id="ines")
    for chunk in turns:
        memory.forget(chunk.chunk_id)
    assert memory.stats(user_id="ines")[0].inactive == 2
