"""Equal contents within ten minutes of event time count once, among many messages too."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memsense.store.planning import drop_repeats
from memsense.types import ChunkDraft, ExchangeDraft

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TEN_MINUTES = timedelta(minutes=10)


def moment(base: datetime, stretches: int, microseconds: int) -> datetime:
    return base + stretches * TEN_MINUTES + timedelta(microseconds=microseconds)


moments = st.builds(
    moment,
    st.sampled_from([NOON, datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)]),
    st.integers(-3, 3),
    st.sampled_from([-1, 0, 1, 299_999_999, 300_000_000]),
)


def exchange(content: str, at: datetime | None) -> ExchangeDraft:
    chunk = ChunkDraft(
        granularity="turn",
        session_id="s",
        ordinal=0,
        last_ordinal=0,
        occurred_at=at,
        content_hash=content,
    )
    return ExchangeDraft(chunks=[chunk])


def drop_repeats_one_by_one(exchanges: Sequence[ExchangeDraft]) -> list[ExchangeDraft]:
    """Drop repeats by the definition: compare each message with all kept before it."""
    kept: list[ExchangeDraft] = []
    for item in exchanges:
        if not any(is_repeat(item.chunks[0], earlier.chunks[0]) for earlier in kept):
            kept.append(item)
    return kept


def is_repeat(one: ChunkDraft, other: ChunkDraft) -> bool:
    if one.occurred_at is None or other.occurred_at is None:
        return False
    distance = abs(one.occurred_at - other.occurred_at)
    return one.content_hash == other.content_hash and distance < TEN_MINUTES


@given(st.lists(st.builds(exchange, st.sampled_from("ab"), st.none() | moments), max_size=12))
def test_repeats_are_those_that_a_comparison_of_each_with_all_finds(
    exchanges: list[ExchangeDraft],
) -> None:
    found = drop_repeats(exchanges)
    assert list(map(id, found)) == list(map(id, drop_repeats_one_by_one(exchanges)))
