"""A misspelt argument is one error in every view, at run time and for the type checker.

pyright fails here for a comment that ignores no error: `make lint` proves that it sees the typos.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

import asyncio
from collections.abc import Generator

import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.client.aio import AsyncMemSense
from memsense.errors import InvalidInputError, UnknownArgumentError

TYPO = "tpo_k is unknown; did you mean 'top_k'"


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as opened:
        yield opened


def test_a_misspelt_argument_of_a_memory_is_named_with_the_nearest_one(memory: MemSense) -> None:
    with pytest.raises(UnknownArgumentError, match=TYPO):
        memory.search("tea", user_id="ada", tpo_k=3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(UnknownArgumentError, match=TYPO):
        memory.search_many(["tea"], user_id="ada", tpo_k=3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(UnknownArgumentError, match="tagz is unknown; did you mean 'tags'"):
        memory.list(user_id="ada", tagz=["a"])  # pyright: ignore[reportCallIssue]
    with pytest.raises(InvalidInputError, match="top_k must be a whole number"):
        memory.search("tea", user_id="ada", top_k="three")  # pyright: ignore[reportArgumentType]


def test_a_misspelt_argument_of_a_view_of_one_user_is_named(memory: MemSense) -> None:
    ada = memory.for_user("ada")
    with pytest.raises(UnknownArgumentError, match=TYPO):
        ada.search("tea", tpo_k=3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(UnknownArgumentError, match=TYPO):
        ada.why_not("tea", 1, tpo_k=3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(InvalidInputError, match="top_k must be a whole number"):
        ada.search("tea", top_k="three")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInputError, match="the memory of 'ada' alone: leave user_id out"):
        ada.search("tea", user_id="bob")  # pyright: ignore[reportCallIssue]
    with pytest.raises(UnknownArgumentError, match="as_of_than is unknown"):
        ada.traces.replay("0", as_of_than=True)  # pyright: ignore[reportCallIssue]


def test_a_misspelt_argument_of_an_asynchronous_view_is_named(memory: MemSense) -> None:
    async def call() -> None:
        asynchronous = AsyncMemSense.over(memory)
        with pytest.raises(UnknownArgumentError, match=TYPO):
            await asynchronous.search("tea", user_id="ada", tpo_k=3)  # pyright: ignore[reportCallIssue]
        ada = asynchronous.for_user("ada")
        with pytest.raises(UnknownArgumentError, match=TYPO):
            await ada.search("tea", tpo_k=3)  # pyright: ignore[reportCallIssue]
        with pytest.raises(InvalidInputError, match="the memory of 'ada' alone: leave user_id out"):
            await ada.search("tea", user_id="bob")  # pyright: ignore[reportCallIssue]

    asyncio.run(call())
