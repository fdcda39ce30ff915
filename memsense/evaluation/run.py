"""Asks a gold set's questions of a memory and measures what comes back."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from memsense.client.memory import MemSense
from memsense.errors import EvaluationError
from memsense.evaluation.gold import GoldQuestion, GoldSet
from memsense.evaluation.metrics import ndcg_at, recall_at, reciprocal_rank
from memsense.search.profiles import Profile

SESSION_DEPTH = 10
TURN_DEPTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """What one question found: metrics as shares of 1, ranked ids, the searches' milliseconds."""

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
        """The result as plain values, for a line of JSONL."""
        return asdict(self)


def evaluate(
    memory: MemSense,
    gold: GoldSet,
    *,
    profile: Profile,
    on_question: Callable[[], object] = lambda: None,
) -> list[QuestionResult]:
    """Search for sessions and for turns with every question; `on_question` is called after each.

    Raises EvaluationError when a user of the gold set has no memory.
    """
    _check_users(memory, gold)
    results: list[QuestionResult] = []
    for question in gold.questions:
        results.append(ask(memory, question, profile))
        on_question()
    return results


def _check_users(memory: MemSense, gold: GoldSet) -> None:
    stored = {scope.user_id for scope in memory.stats()}
    missing = sorted({question.user_id for question in gold.questions} - stored)
    if missing:
        named, others = missing[:5], missing[5:]
        raise EvaluationError(
            f"nothing is stored for {', '.join(named)}{' and others' if others else ''};"
            " run 'memsense ingest' on the file first"
        )


def ask(memory: MemSense, question: GoldQuestion, profile: Profile) -> QuestionResult:
    """One question, asked for sessions and for turns."""
    scope: dict[str, Any] = {
        "user_id": question.user_id,
        "profile": profile,
        "asked_at": question.asked_at,
    }
    by_session = memory.search(
        question.question, top_k=SESSION_DEPTH, granularity="session", **scope
    )
    by_turn = memory.search(question.question, top_k=TURN_DEPTH, granularity="turn", **scope)
    sessions = list(dict.fromkeys(hit.session_id for hit in by_session))
    ranked = [(session,) for session in sessions]
    messages = [tuple(hit.message_ids) for hit in by_turn]
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
        turn={f"recall@{k}": recall_at(messages, gold_messages, k) for k in (5, 10, 20)},
        sessions=sessions,
        messages=messages,
        gold=sorted(question.gold_messages),
        gold_sessions=sorted(question.gold_sessions),
        search_ms=[by_session.timings_ms["total"], by_turn.timings_ms["total"]],
    )


def summarise(results: Sequence[QuestionResult], gold: GoldSet, profile: str) -> dict[str, Any]:
    """The means by split and category, in the documented shape (docs/evaluation.md)."""
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
        **_means(results),
        "by_category": {
            category: _means([item for item in results if item.category == category])
            for category in categories
        },
        "search_ms": {"p50": _percentile(times, 50), "p95": _percentile(times, 95)},
    }


def _means(results: Sequence[QuestionResult]) -> dict[str, dict[str, float]]:
    return {
        "session": _mean_each(result.session for result in results),
        "turn": _mean_each(result.turn for result in results),
    }


def _mean_each(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    listed = list(rows)
    if not listed:
        return {}
    return {name: statistics.fmean(row[name] for row in listed) for name in listed[0]}


def _percentile(values: Sequence[float], percent: int) -> float:
    return float(np.percentile(values, percent)) if values else 0.0
