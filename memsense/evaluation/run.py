"""Evaluation of one profile: a gold set's questions are searched for, and the hits measured."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from memsense.client.verbs import Memory
from memsense.errors import EvaluationError
from memsense.evaluation.gold import GoldQuestion, GoldSet
from memsense.metrics import ndcg_at, recall_at, reciprocal_rank
from memsense.search.profiles import Profile

SESSION_DEPTH = 10
TURN_DEPTH = 20
"""Hits of the two searches of each question; no metric looks deeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """Result of one question.

    Attributes:
        question_id: Id of the question.
        user_id: The user whose memory was searched.
        question: The text.
        category: Its category.
        split: Its split; empty for none.
        session: Metrics of the search for sessions, as shares of 1.
        turn: Metrics of the search for exchanges, likewise.
        sessions: Ids of the sessions, best first.
        messages: For each exchange, best first, the ids of its messages.
        gold: Ids of the messages that hold the answer.
        gold_sessions: Ids of the sessions that hold the answer.
        search_ms: Milliseconds of both searches.
    """

    question_id: str
    user_id: str
    question: str
    category: str
    split: str
    session: Mapping[str, float]
    turn: Mapping[str, float]
    sessions: Sequence[str]
    messages: Sequence[Sequence[str]]
    gold: Sequence[str]
    gold_sessions: Sequence[str]
    search_ms: Sequence[float]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for a line of JSONL."""
        return asdict(self)


def evaluate(
    memory: Memory,
    gold: GoldSet,
    *,
    profile: Profile,
    on_question: Callable[[], object] = lambda: None,
) -> list[QuestionResult]:
    """Search with every question, for sessions and for exchanges, and measure the hits.

    Args:
        memory: The memory that holds the gold set's conversations.
        gold: The questions.
        profile: The profile to evaluate.
        on_question: Called after each question.

    Returns:
        A result for each question, in their order.

    Raises:
        EvaluationError: If a user of the gold set has no memory.
    """
    check_stored(memory, gold)
    results: list[QuestionResult] = []
    for question in gold.questions:
        results.append(evaluate_question(memory, question, profile))
        on_question()
    return results


def check_stored(memory: Memory, gold: GoldSet) -> None:
    """Raise EvaluationError if a user of the gold set has no memory, which would find nothing."""
    users = {scope.user_id for scope in memory.stats()}
    missing = sorted({question.user_id for question in gold.questions} - users)
    if missing:
        raise EvaluationError(
            f"nothing is stored for {', '.join(missing[:5])}{' and others' if missing[5:] else ''};"
            " run 'memsense ingest' on the file first"
        )


def evaluate_question(memory: Memory, question: GoldQuestion, profile: Profile) -> QuestionResult:
    """Search with one question, for sessions and for exchanges, and measure the hits."""
    scope: dict[str, Any] = {
        "user_id": question.user_id,
        "profile": profile,
        "asked_at": question.asked_at,
    }
    by_session = memory.search(
        question.question, top_k=SESSION_DEPTH, granularity="session", **scope
    )
    by_turn = memory.search(question.question, top_k=TURN_DEPTH, granularity="turn", **scope)
    # Long sessions have several chunks; a session counts at its best place.
    sessions = list(dict.fromkeys(hit.session_id for hit in by_session))
    ranked = [(session,) for session in sessions]
    messages = [tuple(hit.message_ids) for hit in by_turn]
    # A hit is shown with the exchanges before and after it: a model reads those, too.
    with_neighbours = [
        (*hit.message_ids, *(name for near in hit.neighbors for name in near.chunk.message_ids))
        for hit in by_turn
    ]
    gold_sessions, gold_messages = question.gold_sessions, question.gold_messages
    return QuestionResult(
        question_id=question.question_id,
        user_id=question.user_id,
        question=question.question,
        category=question.category,
        split=question.split,
        session={
            **{f"recall@{k}": recall_at(ranked, gold_sessions, k) for k in (1, 3, 5, 10)},
            "mrr": reciprocal_rank(ranked, gold_sessions),
            "ndcg@10": ndcg_at(ranked, gold_sessions, 10),
        },
        turn={
            **{f"recall@{k}": recall_at(messages, gold_messages, k) for k in (1, 5, 10, 20)},
            **{f"shown@{k}": recall_at(with_neighbours, gold_messages, k) for k in (5, 10, 20)},
        },
        sessions=sessions,
        messages=messages,
        gold=sorted(question.gold_messages),
        gold_sessions=sorted(question.gold_sessions),
        search_ms=[by_session.timings_ms["total"], by_turn.timings_ms["total"]],
    )


def summarise(results: Sequence[QuestionResult], gold: GoldSet, profile: str) -> dict[str, Any]:
    """Return the means by split and category, as docs/reference/output.md describes.

    Args:
        results: Results of one run.
        gold: The gold set of the run.
        profile: Name of the profile.
    """
    splits: dict[str, Any] = {
        "all": _summarise_split(results, sum(gold.skipped.values())),
    }
    for split in gold.splits:
        members = [result for result in results if result.split == split]
        splits[split] = _summarise_split(members, gold.skipped.get(split, 0))
    return {"profile": profile, "splits": splits}


def _summarise_split(results: Sequence[QuestionResult], skipped: int) -> dict[str, Any]:
    categories = sorted({result.category for result in results})
    times = [ms for result in results for ms in result.search_ms]
    return {
        "questions": len(results),
        "skipped": skipped,
        **_compute_means(results),
        "by_category": {
            category: _compute_means([item for item in results if item.category == category])
            for category in categories
        },
        "search_ms": {
            f"p{percent}": float(np.percentile(times, percent)) if times else 0.0
            for percent in (50, 95)
        },
    }


def _compute_means(results: Sequence[QuestionResult]) -> dict[str, dict[str, float]]:
    rows = {
        "session": [result.session for result in results],
        "turn": [result.turn for result in results],
    }
    return {
        kind: {name: statistics.fmean(row[name] for row in metrics) for name in metrics[0]}
        if metrics
        else {}
        for kind, metrics in rows.items()
    }


_LINE = TypeAdapter(QuestionResult)


def write_results(path: Path, results: Sequence[QuestionResult]) -> None:
    """Write a line for each question.

    Args:
        path: The file to write.
        results: The results of one run.

    Raises:
        EvaluationError: If the file can't be written.
    """
    try:
        with path.open("wb") as lines:
            lines.writelines(_LINE.dump_json(result) + b"\n" for result in results)
    except OSError as error:
        raise EvaluationError(f"{path} can't be written: {error}") from error


def read_results(path: Path) -> list[QuestionResult]:
    """Read a file that `write_results` wrote.

    Args:
        path: The file to read.

    Raises:
        EvaluationError: If the file can't be read, or a line is no result; names the line.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error
    # Line by line, so that an error names the place.
    results: list[QuestionResult] = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            results.append(_LINE.validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise EvaluationError(
                f"{path}, line {number} is no question's result: {place} {first['msg']};"
                " write such a file with 'memsense eval ... --questions-out FILE'"
            ) from error
    if not results:
        raise EvaluationError(f"{path} holds no results")
    return results
