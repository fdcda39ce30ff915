"""Drafts made from conversations: identity, annotations, parts."""

from collections import UserList
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from memsense.draft.drafting import Annotations, Drafter
from memsense.draft.facets.tagger import RuleTagger
from memsense.types import Conversation, ExchangeDraft, Message, Role

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def message(text: str, role: Role = "user", **fields: Any) -> Message:
    given: dict[str, Any] = {"at": NOON, **fields}
    return Message(role=role, text=text, **given)


def conversation(*messages: Message, **fields: Any) -> Conversation:
    return Conversation(session_id="s", messages=messages, format="rows", source="log", **fields)


def draft(*messages: Message, ledger: bool = True, **options: Any) -> list[ExchangeDraft]:
    drafter = Drafter(tagger=RuleTagger(), ledger=ledger, **options)
    return list(drafter.draft(conversation(*messages), "ada").exchanges)


def test_an_exchange_is_named_by_its_messages() -> None:
    question, answer = message("Hi", external_id="m1"), message("Ho", "assistant")
    [exchange] = draft(question, answer)
    [again] = draft(question, answer)
    assert exchange == again
    assert "m1" in exchange.messages
    assert len(exchange.messages) == 2
    [edited] = draft(replace(question, text="Hey"), answer)
    assert edited.messages.keys() == exchange.messages.keys()
    assert edited.messages["m1"] != exchange.messages["m1"]
    assert edited.chunks[0].content_hash != exchange.chunks[0].content_hash


def test_an_id_that_a_log_uses_twice_means_two_messages() -> None:
    roles: list[Role] = ["user", "assistant", "user"]
    exchanges = draft(*(message(f"text of {r}", r, external_id="same") for r in roles))
    keys = [key for exchange in exchanges for key in exchange.messages]
    assert keys == ["same", "same#2", "same#3"]


def test_a_calls_exchange_has_no_ledger_and_a_window_of_event_time() -> None:
    [exchange] = draft(message("Hi"), ledger=False)
    assert exchange.messages == {}
    assert exchange.chunks[0].dedup_window == int(NOON.timestamp()) // 600
    [ingested] = draft(message("Hi"))
    assert ingested.chunks[0].dedup_window == 0


def test_the_callers_facets_win_over_the_rules() -> None:
    text = "My name is Ada and I love saffron tea."
    [found] = draft(message(text))
    given = Annotations(
        agent_id="helper",
        tags=("tea",),
        facets={"preferences": "none"},
        memory_kind="stable",
        metadata={"plan": "pro"},
    )
    [told] = draft(message(text), annotations=given)
    assert found.chunks[0].preferences not in (None, "none")
    chunk = told.chunks[0]
    assert (chunk.preferences, chunk.memory_kind, chunk.agent_id) == ("none", "stable", "helper")
    assert chunk.personal_info == found.chunks[0].personal_info
    assert (chunk.tags, chunk.metadata) == (("tea",), {"plan": "pro"})


def test_the_parts_of_a_long_exchange_differ_in_part_and_hash_alone() -> None:
    [exchange] = draft(message("word " * 2000))
    parts = [chunk.part for chunk in exchange.chunks]
    assert parts == list(range(len(parts)))
    assert len(parts) > 1
    assert len({chunk.content_hash for chunk in exchange.chunks}) == len(parts)
    assert "".join(chunk.own_user_text for chunk in exchange.chunks) == "word " * 2000
    assert {chunk.part_count for chunk in exchange.chunks} == {len(parts)}


def test_facets_are_those_of_the_part_and_stand_where_they_are_said() -> None:
    fillers = "word " * 1200
    [exchange] = draft(message(f"I am allergic to peanuts. {fillers} I prefer green tea."))
    first, last = exchange.chunks[0], exchange.chunks[-1]
    assert first.opening_length == 0 < last.opening_length <= 600
    assert first.user_text.startswith(last.user_text[:100])
    assert not last.own_user_text.startswith("I am allergic")
    said = [
        (chunk.part, chunk.user_text[cast("int", span["start"]) : cast("int", span["end"])])
        for chunk in exchange.chunks
        for span in chunk.facet_spans
    ]
    assert any(part == last.part and "prefer green tea" in text for part, text in said)
    assert [part for part, text in said if "allergic" in text] == [0]


def test_an_exchange_with_nothing_to_embed_is_no_draft() -> None:
    assert draft(message("\u200b"), message("\ufe0f", "assistant")) == []


def test_the_time_is_the_first_messages_that_has_one() -> None:
    [exchange] = draft(message("Hi", at=None), message("Ho", "assistant"))
    assert exchange.chunks[0].occurred_at == NOON


class Counted(UserList[Message]):
    """Messages that count how often they are iterated."""

    times = 0

    def __iter__(self) -> Iterator[Message]:
        self.times += 1
        return super().__iter__()


def test_messages_are_not_gone_through_again_for_each_exchange() -> None:
    def times(count: int) -> int:
        messages = Counted(message(f"{n}", "other", speaker=f"Ann {n}") for n in range(count))
        given = replace(conversation(), messages=messages)
        Drafter(tagger=RuleTagger(), ledger=False).draft(given, "ada")
        return messages.times

    assert times(100) == times(10)
