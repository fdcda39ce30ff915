"""Gold per token: the share of gold turns whose text is in a prompt of so many tokens.

The prompt is measured, not the hits that it is made from: a model reads the prompt, and a user pays
for it. Prompts that concern nothing stored are measured by the tokens that they get.
"""

import html
import json
import random
import re
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memsense.client.verbs import Memory
from memsense.evaluation.gold import GoldSet, GoldText
from memsense.evaluation.run import TURN_DEPTH, check_stored
from memsense.search.hits import Hit, SearchResult
from memsense.search.profiles import Profile
from memsense.text.tokens import Tokenizer, make_counter

BUDGETS = (200, 500, 1_000, 2_000)
"""Tokens of the prompts that questions get."""

UNRELATED_BUDGET = 1_000
"""Tokens that a prompt which concerns nothing stored may get."""

MEMORIES = 4
"""Memories that each unrelated prompt is put to, drawn with a fixed seed."""

LONG_TEXT = 500
"""Characters of a longer text that are enough for it to count as carried."""

STRETCH = 50
"""Characters of the shortest stretch of a long text that counts."""

UNRELATED = Path(__file__).with_name("unrelated.jsonl")

_QUOTE_MARKS = re.compile(r"^(?:[ \t]*> ?)+", re.MULTILINE)


@lru_cache(maxsize=256)
def normalise(text: str) -> str:
    """Return the text without quote marks at line starts and HTML escapes, on one line."""
    return " ".join(html.unescape(_QUOTE_MARKS.sub("", text)).split())


def carried(prompt: str, text: str) -> bool:
    """Return whether the text is in the prompt, however it is quoted.

    A text of more than 500 characters needs 500 of them: its first, or stretches of at least 50
    characters that have 500 together.

    Args:
        prompt: The prompt.
        text: The text of a turn.
    """
    prompt, text = normalise(prompt), normalise(text)
    if text[:LONG_TEXT] in prompt:
        return bool(text)
    if len(text) <= LONG_TEXT:
        return False
    # A character counts if a window around it is in the prompt. Windows in a set instead of
    # a search for the longest common stretches: prompts and turns have thousands of characters.
    windows = {prompt[start : start + STRETCH] for start in range(len(prompt) - STRETCH + 1)}
    count = end = 0
    for start in range(len(text) - STRETCH + 1):
        if text[start : start + STRETCH] in windows:
            count += start + STRETCH - max(start, end)
            end = start + STRETCH
    return count >= LONG_TEXT


# Writers of prompts ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """Question to a memory, with the one search that serves all writers and budgets.

    Attributes:
        memory: The memory.
        user_id: Whose memory it is about.
        question: The text.
        profile: The profile that ranks.
        result: The 20 best exchanges.
        count: Counter of tokens.
        asked_at: When it is asked; None for now.
    """

    memory: Memory
    user_id: str
    question: str
    profile: Profile
    result: SearchResult
    count: Callable[[str], int]
    asked_at: datetime | None = None


Writer = Callable[[PromptRequest, int], str]
"""A function that writes the prompt of a request within so many tokens."""


def trimmed_lines(request: PromptRequest, max_tokens: int, *, answer: int = 150) -> str:
    """Return one line for each hit, best first: the baseline of every other writer.

    A line holds the date, 500 characters of the user's text, and `answer` of the answer. Lines that
    don't fit are left out.
    """
    lines = ""
    for hit in request.result:
        longer = lines + _trim(hit, answer)
        if request.count(longer) <= max_tokens:
            lines = longer
    return lines


def _trim(hit: Hit, answer: int) -> str:
    chunk = hit.chunk
    sides = (
        (chunk.user_speaker or "user", chunk.user_text, LONG_TEXT),
        (chunk.assistant_speaker or "assistant", chunk.assistant_text, answer),
    )
    texts = [
        f"{speaker}: {' '.join(text.split())[:length]}"
        for speaker, text, length in sides
        if text.strip()
    ]
    date = f"{chunk.occurred_at:%Y-%m-%d} " if chunk.occurred_at else ""
    return f"- {date}{' | '.join(texts)}\n"


def longer_lines(request: PromptRequest, max_tokens: int) -> str:
    """Return trimmed lines with 500 characters of either side, as suits a chat between people."""
    return trimmed_lines(request, max_tokens, answer=LONG_TEXT)


def write_result(request: PromptRequest, max_tokens: int) -> str:
    """Return what `SearchResult.to_prompt` makes of the hits."""
    return request.result.to_prompt(max_tokens=max_tokens, tokenizer=request.count)


def write_context(request: PromptRequest, max_tokens: int) -> str:
    """Return what `Memory.context` makes of the question: with its own search, card and silence."""
    return request.memory.context(
        request.question,
        user_id=request.user_id,
        max_tokens=max_tokens,
        profile=request.profile,
        asked_at=request.asked_at,
        tokenizer=request.count,
    )


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "trimmed lines": trimmed_lines,
        "longer lines": longer_lines,
        "to_prompt": write_result,
        "context": write_context,
    }
)
"""Writers to compare, by the name that tables show."""


# Measurement -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of a question's gold turns: of the user's (None if there are none), and of all."""

    user_turns: float | None
    all_turns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptResult:
    """Gold that the prompts of one question carry.

    Attributes:
        question_id: Id of the question.
        user_id: The user whose memory was searched.
        split: Its split; empty for none.
        ceiling: Shares of the gold turns that are among the 20 best hits.
        carried: Shares that the prompts carry, by writer and budget.
        tokens: Lengths of the prompts, likewise.
    """

    question_id: str
    user_id: str
    split: str
    ceiling: Shares
    carried: Mapping[str, Mapping[int, Shares]]
    tokens: Mapping[str, Mapping[int, int]]


def measure_prompts(
    memory: Memory,
    gold: GoldSet,
    *,
    profile: Profile,
    writers: Mapping[str, Writer] = WRITERS,
    budgets: Sequence[int] = BUDGETS,
    tokenizer: Tokenizer | None = None,
    on_question: Callable[[], object] = lambda: None,
) -> list[PromptResult]:
    """Write the prompts of every question, and measure which gold turns they carry.

    Args:
        memory: The memory that holds the gold set's conversations.
        gold: The questions.
        profile: The profile that ranks.
        writers: Writers of prompts, by name.
        budgets: Maximum numbers of tokens.
        tokenizer: Counter of tokens, as `to_prompt` takes it; by default memsense's own.
        on_question: Called after each question.

    Raises:
        EvaluationError: If a user of the gold set has no memory.
    """
    check_stored(memory, gold)
    count = make_counter(tokenizer)
    results: list[PromptResult] = []
    for question in gold.questions:
        request = _search(
            memory,
            question.user_id,
            question.question,
            profile=profile,
            count=count,
            asked_at=question.asked_at,
        )
        texts = question.gold_texts
        shares: dict[str, dict[int, Shares]] = {}
        tokens: dict[str, dict[int, int]] = {}
        for name, write in writers.items():
            prompts = {budget: write(request, budget) for budget in budgets}
            tokens[name] = {budget: count(prompt) for budget, prompt in prompts.items()}
            shares[name] = {
                budget: share_of_gold(
                    texts, {key for key, gold in texts.items() if carried(prompt, gold.text)}
                )
                for budget, prompt in prompts.items()
            }
        hits = {message for hit in request.result for message in hit.message_ids}
        results.append(
            PromptResult(
                question_id=question.question_id,
                user_id=question.user_id,
                split=question.split,
                ceiling=share_of_gold(texts, hits),
                carried=shares,
                tokens=tokens,
            )
        )
        on_question()
    return results


def share_of_gold(texts: Mapping[str, GoldText], messages: Collection[str]) -> Shares:
    """Return the shares of the gold turns, at least one, whose ids are among the messages."""
    by_user = [key in messages for key, gold in texts.items() if gold.by_user]
    return Shares(
        user_turns=statistics.fmean(by_user) if by_user else None,
        all_turns=statistics.fmean(key in messages for key in texts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelatedPrompt:
    """Prompt that concerns nothing that a memory could hold.

    Attributes:
        kind: One of ten kinds, such as "small talk".
        prompt: The text.
    """

    kind: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelatedResult:
    """Lengths of the prompts, by writer, that an unrelated prompt gets from one memory."""

    kind: str
    prompt: str
    user_id: str
    split: str
    tokens: Mapping[str, int]


def read_unrelated(path: Path = UNRELATED) -> Sequence[UnrelatedPrompt]:
    """Read the prompts of a file, by default the 200 that ship with memsense."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [UnrelatedPrompt(**json.loads(line)) for line in lines]


def measure_unrelated(
    memory: Memory,
    gold: GoldSet,
    *,
    profile: Profile,
    prompts: Sequence[UnrelatedPrompt] = (),
    memories: int = MEMORIES,
    writers: Mapping[str, Writer] = WRITERS,
    max_tokens: int = UNRELATED_BUDGET,
    tokenizer: Tokenizer | None = None,
    on_prompt: Callable[[], object] = lambda: None,
) -> list[UnrelatedResult]:
    """Put each unrelated prompt to some of the gold set's memories, and count the tokens it gets.

    Args:
        memory: The memory that holds the gold set's conversations.
        gold: The gold set, for its users and their splits.
        profile: The profile that ranks.
        prompts: The prompts; by default the 200 that ship with memsense.
        memories: Memories that each prompt is put to; all of them if there are no more.
        writers: Writers of prompts, by name.
        max_tokens: Maximum length of what is written.
        tokenizer: Counter of tokens, as `to_prompt` takes it; by default memsense's own.
        on_prompt: Called after each prompt.

    Raises:
        EvaluationError: If a user of the gold set has no memory.
    """
    check_stored(memory, gold)
    count = make_counter(tokenizer)
    splits = {question.user_id: question.split for question in gold.questions}
    draw = random.Random(0)  # noqa: S311 (a sample, no secret)
    results: list[UnrelatedResult] = []
    for item in prompts or read_unrelated():
        for user_id in draw.sample(sorted(splits), min(memories, len(splits))):
            request = _search(memory, user_id, item.prompt, profile=profile, count=count)
            lengths = {name: count(write(request, max_tokens)) for name, write in writers.items()}
            results.append(
                UnrelatedResult(
                    kind=item.kind,
                    prompt=item.prompt,
                    user_id=user_id,
                    split=splits[user_id],
                    tokens=lengths,
                )
            )
        on_prompt()
    return results


def _search(
    memory: Memory,
    user_id: str,
    question: str,
    *,
    profile: Profile,
    count: Callable[[str], int],
    asked_at: datetime | None = None,
) -> PromptRequest:
    result = memory.search(
        question,
        user_id=user_id,
        top_k=TURN_DEPTH,
        granularity="turn",
        profile=profile,
        asked_at=asked_at,
    )
    return PromptRequest(
        memory=memory,
        user_id=user_id,
        question=question,
        profile=profile,
        result=result,
        count=count,
        asked_at=asked_at,
    )


# Summary -----------------------------------------------------------------------------------------


def summarise_prompts(
    results: Sequence[PromptResult], unrelated: Sequence[UnrelatedResult]
) -> dict[str, Any]:
    """Return the means by split, in the shape that docs/reference/output.md describes.

    Args:
        results: Results of the questions, at least one.
        unrelated: Results of the unrelated prompts, at least one.
    """
    splits = sorted({result.split for result in results} - {"", "all"})
    return {
        "splits": {
            name: _summarise_questions([one for one in results if name in ("all", one.split)])
            for name in ("all", *splits)
        },
        "unrelated": {
            name: _summarise_unrelated(members)
            for name in ("all", *splits)
            # A small sample of memories may leave a split out.
            if (members := [one for one in unrelated if name in ("all", one.split)])
        },
    }


def _summarise_questions(results: Sequence[PromptResult]) -> dict[str, Any]:
    return {
        "questions": len(results),
        "user_questions": sum(one.ceiling.user_turns is not None for one in results),
        "ceiling": _average([one.ceiling for one in results]),
        "writers": {
            name: {
                str(budget): {
                    **_average([one.carried[name][budget] for one in results]),
                    "mean_tokens": statistics.fmean(one.tokens[name][budget] for one in results),
                }
                for budget in budgets
            }
            for name, budgets in results[0].carried.items()
        },
    }


def _average(shares: Sequence[Shares]) -> dict[str, float | None]:
    by_user = [one.user_turns for one in shares if one.user_turns is not None]
    return {
        "user_turns": statistics.fmean(by_user) if by_user else None,
        "all_turns": statistics.fmean(one.all_turns for one in shares),
    }


def _summarise_unrelated(results: Sequence[UnrelatedResult]) -> dict[str, Any]:
    kinds = dict.fromkeys(one.kind for one in results)
    return {
        "prompts": len(results),
        "writers": {
            name: {
                **_describe_tokens([one.tokens[name] for one in results]),
                "by_kind": {
                    kind: _describe_tokens(
                        [one.tokens[name] for one in results if one.kind == kind]
                    )
                    for kind in kinds
                },
            }
            for name in results[0].tokens
        },
    }


def _describe_tokens(lengths: Sequence[int]) -> dict[str, float]:
    return {
        "silent": statistics.fmean(length == 0 for length in lengths),
        "mean_tokens": statistics.fmean(lengths),
        "median_tokens": statistics.median(lengths),
    }
