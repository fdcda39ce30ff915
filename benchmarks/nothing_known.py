"""Separation of questions with and without an answer in memory, by the best hit's score.

    python -m benchmarks.nothing_known --locomo locomo10.json --beam beam100k.jsonl

Each gold question is asked twice for exchanges: of the whole memory (known), and with the
exchanges that hold its answer left out by `exclude` (removed). That does what taking them out of a
copy of the store would do, at a fraction of the cost, but for two traces that they leave: they
still count in the lexical statistics, and their neighbours keep their ends as context.

Printed are the area under the ROC curve by file, split and category (the share of pairs, one known
and one removed question, of which the known one has the better best hit), and, for thresholds that
leave 99, 95, 90 and 80% of the known questions their best hit, how many removed ones get none. A
threshold is of all questions of a file, and of both files together with equal weight.

Files are stored once, in namespaces of their own, which `memsense eval compare` shares; with
--namespace they are expected in that one (memsense ingest), and nothing is stored.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsense import MemSense
from memsense.cli.measuring import gold_target
from memsense.cli.target import Target
from memsense.evaluation import GoldSet, gold_set, ingest_gold, read_beam, read_locomo
from memsense.evaluation.gold import GoldQuestion
from memsense.ingest import ReadOptions

KEPT = (0.99, 0.95, 0.90, 0.80)
"""Shares of the known questions that are to keep their best hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Score of one question's best exchange; None if nothing was found."""

    kind: str
    split: str
    category: str
    question_id: str
    known: float | None
    removed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Area under the ROC curve of one group's best scores; 0.5 is chance, 1 perfect."""

    kind: str
    group: str
    questions: int
    area: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A min_score that leaves the share `wanted` of the known questions their best hit.

    `kept` is the share that it really leaves, `emptied` that of removed questions without a hit.
    """

    kind: str
    group: str
    wanted: float
    min_score: float
    kept: float
    emptied: float


def best_score(
    memory: MemSense, question: GoldQuestion, profile: str, exclude: Sequence[str]
) -> float | None:
    """Return the score of the first hit, which is the best: MMR begins with it.

    One hit is as good as eight: the pools of so few are of one size.
    """
    result = memory.search(
        question.question,
        user_id=question.user_id,
        top_k=1,
        granularity="turn",
        exclude=exclude,
        asked_at=question.asked_at,
        profile=profile,
    )
    return result[0].score if len(result) else None


def ask_all(memory: MemSense, kind: str, gold: GoldSet, profile: str) -> Iterator[Answer]:
    """Return each question's best scores, with everything and without its gold."""
    for question in gold.questions:
        without = sorted(question.gold_messages)
        yield Answer(
            kind=kind,
            split=question.split,
            category=question.category,
            question_id=question.question_id,
            known=best_score(memory, question, profile, ()),
            removed=best_score(memory, question, profile, without),
        )


def scores_of(answers: Sequence[Answer], side: str) -> NDArray[np.float64]:
    """Return the best scores of the known or the removed questions, (n,); no hit is below all."""
    found = [getattr(item, side) for item in answers]
    return np.array([-np.inf if score is None else score for score in found], dtype=np.float64)


def area_under_roc(known: NDArray[np.float64], removed: NDArray[np.float64]) -> float:
    """Return the share of pairs in which the known one scores higher; ties count half."""
    below = np.searchsorted(ordered := np.sort(removed), known, side="left")
    not_above = np.searchsorted(ordered, known, side="right")
    return float((below + not_above).mean() / (2 * len(removed)))


def groups(answers: Sequence[Answer]) -> Iterator[tuple[str, str, list[Answer]]]:
    """Yield kind, name and questions of every group: a file, its splits, its categories."""
    for kind in dict.fromkeys(item.kind for item in answers):
        members = [item for item in answers if item.kind == kind]
        yield kind, "all", members
        for field, heading in (("split", "conversations"), ("category", "category")):
            for name in sorted({getattr(item, field) for item in members}):
                named = [item for item in members if getattr(item, field) == name]
                yield kind, f"{heading} {name}", named


def areas(answers: Sequence[Answer]) -> list[Area]:
    """Return the area of every group."""
    return [
        Area(
            kind=kind,
            group=group,
            questions=len(members),
            area=area_under_roc(scores_of(members, "known"), scores_of(members, "removed")),
        )
        for kind, group, members in groups(answers)
    ]


def choose_threshold(
    known: NDArray[np.float64], wanted: float, shares: NDArray[np.float64]
) -> float:
    """Return the largest score that at least `wanted` of the known questions reach, by weight."""
    order = np.argsort(-known, kind="stable")
    reached = np.cumsum(shares[order]) / shares.sum()
    return float(known[order][np.searchsorted(reached, wanted - 1e-12)])


def equal_shares(answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Return the weight of each question, (n,), so that every file counts alike."""
    kinds = [item.kind for item in answers]
    return np.array([1 / kinds.count(kind) for kind in kinds])


def thresholds(answers: Sequence[Answer]) -> list[Threshold]:
    """Return the thresholds of each file and of all files, with their effect on each group."""
    found: list[Threshold] = []
    kinds = list(dict.fromkeys(item.kind for item in answers))
    for selection in [[kind] for kind in kinds] + ([kinds] if len(kinds) > 1 else []):
        basis = [item for item in answers if item.kind in selection]
        for wanted in KEPT:
            least = choose_threshold(scores_of(basis, "known"), wanted, equal_shares(basis))
            found += judge_threshold(basis, " and ".join(selection), wanted, least)
    return found


def judge_threshold(
    basis: Sequence[Answer], kind: str, wanted: float, least: float
) -> Iterator[Threshold]:
    """Return the effect of the threshold on each file and each split that it was chosen on."""
    for of, group, members in groups(basis):
        if group.startswith("category"):
            continue
        yield Threshold(
            kind=kind,
            group=f"{of}, {group}",
            wanted=wanted,
            min_score=least,
            kept=float(np.mean(scores_of(members, "known") >= least)),
            emptied=float(np.mean(scores_of(members, "removed") < least)),
        )


def read_kind(kind: str, file: Path) -> tuple[GoldSet, Callable[[MemSense], object]]:
    """Return the questions of a file, and a function that stores its conversations."""
    if kind == "LoCoMo":
        options = ReadOptions(format="locomo")
        return read_locomo(file), lambda memory: memory.ingest(file, options=options)
    conversations = read_beam(file)
    return gold_set(conversations, file.stem), lambda memory: ingest_gold(memory, conversations)


def measure(files: Mapping[str, Path], options: argparse.Namespace) -> list[Answer]:
    """Return the best scores of every n-th question of each file."""
    found: list[Answer] = []
    for kind, file in files.items():
        gold, store = read_kind(kind, file)
        every = GoldSet(name=gold.name, questions=gold.questions[:: options.every], skipped={})
        target = Target(database_url=options.database_url, namespace=options.namespace)
        with gold_target(target, file).open() as memory:
            if options.namespace is None:
                store(memory)
            found += ask_all(memory, kind, every, options.profile)
    return found


def print_tables(answers: Sequence[Answer]) -> None:
    """Print both tables as Markdown."""
    print("| questions of | | questions | area under ROC |\n| --- | --- | --- | --- |")
    for area in areas(answers):
        print(f"| {area.kind} | {area.group} | {area.questions} | {area.area:.3f} |")
    print("\n| threshold of | known kept | min_score | in | known kept | removed without a hit |")
    print("| --- | --- | --- | --- | --- | --- |")
    for found in thresholds(answers):
        print(
            f"| {found.kind} | {100 * found.wanted:.0f}% | {found.min_score:.4f} | {found.group}"
            f" | {100 * found.kept:.1f}% | {100 * found.emptied:.1f}% |"
        )


def as_dict(answers: Sequence[Answer], profile: str) -> dict[str, Any]:
    """Return everything as plain values, ready for JSON."""
    return {
        "profile": profile,
        "areas": [asdict(area) for area in areas(answers)],
        "thresholds": [asdict(found) for found in thresholds(answers)],
        "questions": [asdict(item) for item in answers],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, help="locomo10.json")
    parser.add_argument("--beam", type=Path, help="BEAM as JSON Lines")
    parser.add_argument("--database-url", help="default: the settings', else the embedded server")
    parser.add_argument("--namespace", help="where both files are stored already")
    parser.add_argument("--profile", default="balanced", help="shipped or stored")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = {"LoCoMo": options.locomo, "BEAM": options.beam}
    named_files = {kind: file for kind, file in files.items() if file}
    if not named_files:
        parser.error("give --locomo FILE, --beam FILE, or both")
    answers = measure(named_files, options)
    if options.json:
        print(json.dumps(as_dict(answers, options.profile)))
    else:
        print_tables(answers)


if __name__ == "__main__":
    main()
