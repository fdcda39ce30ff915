"""Changed facts: whether the current one stands before the one that it replaced.

    python -m benchmarks.true_now --half even
    python -m benchmarks.true_now --plain

tests/data/changed_facts.jsonl holds pairs of statements, an old and a new one, with questions about
them, and exchanges about near subjects that all users share. A question wants the new statement
(kind `change`), the old one (a question about the past), or both (kind `no_change`: facts that
stand beside each other). Pairs of even ids were used for tuning, those of odd ids were not. Each
half is stored in a namespace of its own, once.

With --plain it asks the questions of tests/data/plain_questions.jsonl about the bundled sample log.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from memsense import MemSense, SearchResult
from memsense.evaluation import ingest_gold
from memsense.evaluation.jsonl import GoldConversation

DATA = Path(__file__).parents[1] / "tests" / "data"
CASES = DATA / "changed_facts.jsonl"
PLAIN = DATA / "plain_questions.jsonl"
ASKED_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
DEPTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The ranks of both statements for one question, from 1; None if not among the first 20.

    `link` says which statement the hits say was superseded: "right" for the old one by the new one,
    "wrong" for any other link between the two, "" for none.
    """

    case: int
    kind: str
    language: str
    wants: str
    question: str
    old: int | None
    new: int | None
    link: str

    @property
    def is_right(self) -> bool:
        """Whether the wanted statement stands before the other, or both in the first 8."""
        old, new = self.old or DEPTH + 1, self.new or DEPTH + 1
        if self.wants == "both":
            return max(old, new) <= 8
        return new < old if self.wants == "new" else old < new


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_conversations(rows: Sequence[dict[str, Any]]) -> Iterator[GoldConversation]:
    """Yield the memory of each user: a session for each week, with the exchanges in their order."""
    fillers = [row for row in rows if row["kind"] == "filler"]
    pairs = [row for row in rows if row["kind"] != "filler"]
    for user_id in sorted({row["user_id"] for row in pairs}):
        said = [(f"f{row['id']}", row) for row in fillers]
        for row in pairs:
            if row["user_id"] == user_id:
                said += [(f"{side}{row['id']}", row[side]) for side in ("old", "new")]
        weeks: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for name, exchange in sorted(said, key=lambda item: item[1]["at"]):
            week = datetime.fromisoformat(exchange["at"]).strftime("%G-%V")
            for role in ("user", "assistant"):
                turn = {"id": f"{name}-{role}", "role": role, "content": exchange[role]}
                weeks[week].append({**turn, "at": exchange["at"]})
        yield GoldConversation.model_validate(
            {
                "conversation_id": user_id,
                "sessions": [{"session_id": week, "turns": turns} for week, turns in weeks.items()],
            }
        )


def find_rank(result: SearchResult, message_ids: set[str]) -> int | None:
    """Return the rank of the first hit with one of the messages, None if there is none."""
    ranks = (rank for rank, hit in enumerate(result, 1) if message_ids & set(hit.message_ids))
    return next(ranks, None)


def ask(memory: MemSense, row: dict[str, Any], question: dict[str, str], profile: str) -> Answer:
    """Return the ranks of both statements of a pair for one of its questions."""
    result = memory.search(
        question["question"],
        user_id=row["user_id"],
        top_k=DEPTH,
        asked_at=ASKED_AT,
        granularity="turn",
        profile=profile,
    )
    ranks = {side: find_rank(result, {f"{side}{row['id']}-user"}) for side in ("old", "new")}
    chunk_ids = {side: result[rank - 1].chunk_id for side, rank in ranks.items() if rank}
    links: set[str] = set()
    for side, rank in ranks.items():
        hit = result[rank - 1] if rank else None
        other = chunk_ids.get("new" if side == "old" else "old")
        if hit is None or other is None:
            continue
        if hit.superseded_by and hit.superseded_by.chunk_id == other:
            links.add("right" if side == "old" and row["kind"] == "change" else "wrong")
    return Answer(
        case=row["id"],
        kind=row["kind"],
        language=row["language"],
        wants=question["wants"],
        question=question["question"],
        old=ranks["old"],
        new=ranks["new"],
        link="wrong" if "wrong" in links else "".join(links),
    )


def group_answers(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """Return the answers by what is reported of them."""
    english = [item for item in answers if item.language == "en"]
    others = [item for item in answers if item.language != "en"]
    return {
        "changes": [one for one in english if (one.kind, one.wants) == ("change", "new")],
        "questions about the past": [
            one for one in english if (one.kind, one.wants) == ("change", "old")
        ],
        "no changes": [one for one in english if one.kind == "no_change"],
        "changes, other languages": [
            one for one in others if (one.kind, one.wants) == ("change", "new")
        ],
        "past and no changes, other languages": [
            one for one in others if (one.kind, one.wants) != ("change", "new")
        ],
    }


def print_table(answers: Sequence[Answer]) -> None:
    """Print the figures as Markdown."""
    print("| group | questions | right | wanted in first 3 | in first 8 | links right | wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, group in group_answers(answers).items():
        if not group:
            continue
        wanted = [
            max(one.old or 99, one.new or 99)
            if one.wants == "both"
            else (getattr(one, one.wants) or 99)
            for one in group
        ]
        shares = [
            sum(one.is_right for one in group),
            sum(rank <= 3 for rank in wanted),
            sum(rank <= 8 for rank in wanted),
            sum(one.link == "right" for one in group),
            sum(one.link == "wrong" for one in group),
        ]
        cells = " | ".join(f"{100 * share / len(group):.1f}%" for share in shares)
        print(f"| {name} | {len(group)} | {cells} |")


def measure_changes(options: argparse.Namespace) -> list[Answer]:
    """Store one half of the pairs, if it is not stored yet, and ask its questions."""
    rows = read_lines(CASES)
    odd = options.half == "odd"
    rows = [row for row in rows if row["kind"] == "filler" or row["id"] % 2 == odd]
    namespace = f"{options.namespace}-{options.half}"
    with MemSense.open(options.database_url, namespace=namespace) as memory:
        ingest_gold(memory, list(make_conversations(rows)))
        return [
            ask(memory, row, question, options.profile)
            for row in rows
            for question in row.get("questions", ())
        ]


def measure_plain(options: argparse.Namespace) -> list[tuple[str, int | None]]:
    """Store the bundled sample log, if it is not stored yet, and ask the plain questions."""
    with MemSense.open(options.database_url, namespace=f"{options.namespace}-sample") as memory:
        log = files("memsense") / "data" / "sample_conversation.jsonl"
        with as_file(log) as path:
            memory.ingest(path, user_id="ines")
        return [
            (
                row["question"],
                find_rank(
                    memory.search(
                        row["question"], user_id="ines", top_k=DEPTH, profile=options.profile
                    ),
                    set(row["gold_message_ids"]),
                ),
            )
            for row in read_lines(PLAIN)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("even", "odd"), default="even", help="of the ids")
    parser.add_argument("--plain", action="store_true", help="plain questions on the sample")
    parser.add_argument("--database-url", help="default: the settings', else the embedded server")
    parser.add_argument("--namespace", default="true-now", help="beginning of the namespaces")
    parser.add_argument("--profile", default="balanced", help="shipped or stored")
    parser.add_argument("--json", action="store_true", help="print every answer")
    options = parser.parse_args()
    if options.plain:
        plain = measure_plain(options)
        if options.json:
            print(json.dumps(plain))
            return
        for question, rank in plain:
            print(f"{rank or '-':>3}  {question}")
        for depth in (1, 3, 8):
            share = sum(rank is not None and rank <= depth for _, rank in plain) / len(plain)
            print(f"in first {depth}: {100 * share:.1f}%")
        return
    answers = measure_changes(options)
    if options.json:
        print(json.dumps([asdict(one) for one in answers], ensure_ascii=False))
    else:
        print_table(answers)


if __name__ == "__main__":
    main()
