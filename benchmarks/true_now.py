"""Whether the statement that is true now stands before the other one of its pair.

    python -m benchmarks.true_now
    python -m benchmarks.true_now --half odd pairs
    python -m benchmarks.true_now mentions --override current_weight=0
    python -m benchmarks.true_now --plain

Each set has pairs of statements, an older and a newer one, and questions that want the new one, the
old one, or both:

- `facts`, tests/data/changed_facts.jsonl: changes, questions about the past, and facts beside each
  other, among exchanges about near subjects that all users share;
- `pairs`, tests/data/change_pairs.jsonl: new values, and all that sounds like one and is none, by
  kind, among the same exchanges;
- `mentions`: the panel's set made-mentions, as `benchmarks.panel store` stores it.

Weights are fitted on pairs of even ids, and reported on those of odd ids. Each half of `facts` and
`pairs` is stored in a namespace of its own, once. With --plain it asks the questions of
tests/data/plain_questions.jsonl about the bundled sample log.
"""

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from benchmarks.panel_sets import PanelSet
from memsense import MemSense, SearchResult
from memsense.evaluation import ingest_gold, parse_grid
from memsense.evaluation.jsonl import GoldConversation
from memsense.search.profiles import PROFILES, Profile

DATA = Path(__file__).parents[1] / "tests" / "data"
FACTS = DATA / "changed_facts.jsonl"
PAIRS = DATA / "change_pairs.jsonl"
PLAIN = DATA / "plain_questions.jsonl"
SETS = ("facts", "pairs", "mentions")
ASKED_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
DEPTH = 20
SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", Path(__file__).parents[2] / "shared"))
MEMORIES = 4
"""Memories over which the pairs of a half are spread, so that each has pairs of all kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question about a pair; `wants` is "new", "old" or "both", `sides` are the messages of both.

    `changes` says whether the newer statement replaces the older one.
    """

    set: str
    namespace: str
    user_id: str
    case: str
    kind: str
    question: str
    wants: str
    changes: bool
    sides: Mapping[str, frozenset[str]]
    asked_at: datetime | None = ASKED_AT


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The ranks of both statements for one question, from 1; None if not among the first 20.

    `marked` are the pairs that the hits call superseded, by their chunk ids, and whether each is
    that of the question and a change. `together` says which sides are in the prompt that `context`
    writes, `until` whether it calls the older one of the pair over.
    """

    case: Case
    old: int | None
    new: int | None
    marked: Mapping[tuple[int, int], bool]
    together: frozenset[str]
    until: bool

    @property
    def wanted(self) -> int:
        """Return the rank of the wanted statement, of the lower one if both are wanted."""
        old, new = self.old or DEPTH + 1, self.new or DEPTH + 1
        return {"old": old, "new": new, "both": max(old, new)}[self.case.wants]

    @property
    def is_right(self) -> bool:
        """Whether the wanted statement stands before the other, or both in the first 8."""
        old, new = self.old or DEPTH + 1, self.new or DEPTH + 1
        if self.case.wants == "both":
            return self.wanted <= 8
        return new < old if self.case.wants == "new" else old < new


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
                if role not in exchange:
                    continue
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


def read_facts(half: str, prefix: str) -> tuple[list[Case], list[GoldConversation]]:
    """Return the questions about one half of the changed facts, and the memories to store."""
    rows = read_lines(FACTS)
    rows = [row for row in rows if row["kind"] == "filler" or is_in(row, half)]
    cases: list[Case] = []
    for row in rows:
        for question in row.get("questions", ()):
            kinds = {"new": "changes", "old": "the past"} if row["kind"] == "change" else {}
            kind = kinds.get(question["wants"], "beside each other")
            cases.append(
                Case(
                    set="facts",
                    namespace=f"{prefix}-{half}",
                    user_id=row["user_id"],
                    case=f"fact {row['id']}",
                    kind=kind if row["language"] == "en" else f"{kind}, other languages",
                    question=question["question"],
                    wants=question["wants"],
                    changes=row["kind"] == "change",
                    sides=_sides(row),
                )
            )
    return cases, list(make_conversations(rows))


def read_pairs(half: str, prefix: str) -> tuple[list[Case], list[GoldConversation]]:
    """Return the questions about one half of the labelled pairs, and the memories to store."""
    rows: list[dict[str, Any]] = []
    cases: list[Case] = []
    for number, pair in enumerate(row for row in read_lines(PAIRS) if is_in(row, half)):
        is_english = pair["language"] == "en"
        said = datetime(2025, 1, 8, 10, tzinfo=UTC) + timedelta(hours=17 * number)
        row: dict[str, Any] = {
            "id": f"p{pair['id']}",
            "kind": "pair",
            "user_id": f"pairs-{number % MEMORIES}" if is_english else "pairs-de",
            "old": {"user": pair["older"], "at": said.isoformat()},
            "new": {"user": pair["newer"], "at": (said + timedelta(days=120)).isoformat()},
        }
        rows.append(row)
        cases.append(
            Case(
                set="pairs",
                namespace=f"{prefix}-pairs-{half}",
                user_id=row["user_id"],
                case=f"pair {pair['id']}",
                kind=pair["kind"]
                if is_english
                else f"{(pair['replaces'] and 'new') or 'no'}, German",
                question=pair["question"],
                wants="new" if pair["replaces"] else "both" if pair["kind"] == "list" else "old",
                changes=pair["replaces"],
                sides=_sides(row),
            )
        )
    fillers = [row for row in read_lines(FACTS) if row["kind"] == "filler"][::4]
    return cases, list(make_conversations([*fillers, *rows]))


def read_mentions(shared: Path) -> list[Case]:
    """Return the questions of the panel's set made-mentions."""
    path = shared / "eval" / "panel" / "made-mentions.jsonl.gz"
    chosen = PanelSet(name="made-mentions", path=path, stored_as="made-mentions")
    cases: list[Case] = []
    for memory in chosen.read():
        for question in memory.questions:
            changes = question.category == "mention-real-change"
            gold = frozenset([turn for group in question.gold for turn in group])
            sides = (question.others, gold) if changes else (gold, question.others)
            cases.append(
                Case(
                    set="mentions",
                    namespace="panel-made-mentions",
                    user_id=memory.user_id,
                    case=question.question_id,
                    kind="changed" if changes else "unchanged",
                    question=question.text,
                    wants="new" if changes else "old",
                    changes=changes,
                    sides=dict(zip(("old", "new"), sides, strict=True)),
                    asked_at=None,
                )
            )
    return cases


def is_in(row: Mapping[str, Any], half: str) -> bool:
    """Return whether a row of a file is in a half: "even", "odd" or "both"."""
    return half == "both" or row["id"] % 2 == (half == "odd")


def _sides(row: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    return {side: frozenset([f"{side}{row['id']}-user"]) for side in ("old", "new")}


def ask(memory: MemSense, case: Case, profile: Profile) -> Answer:
    """Return the ranks of both statements of a pair for one of its questions."""
    options: dict[str, Any] = {
        "user_id": case.user_id,
        "asked_at": case.asked_at,
        "profile": profile,
    }
    result = memory.search(case.question, top_k=DEPTH, granularity="turn", **options)
    ranks = {side: find_rank(result, set(ids)) for side, ids in case.sides.items()}
    chunk_ids = {side: result[rank - 1].chunk_id for side, rank in ranks.items() if rank}
    own = chunk_ids.get("old"), chunk_ids.get("new")
    marks = [
        (hit.chunk_id, hit.superseded_by.chunk_id)
        for hit in result
        if hit.superseded_by is not None
    ]
    prompt = memory.context(case.question, max_tokens=1_000, silence=0, card=False, **options)
    lines = str(prompt).splitlines()
    return Answer(
        case=case,
        old=ranks["old"],
        new=ranks["new"],
        marked={pair: case.changes and pair == own for pair in marks},
        together=frozenset(
            side for side, chunk_id in chunk_ids.items() if chunk_id in prompt.chunk_ids
        ),
        until=any(line.startswith(f"> [{own[0]}, until ") for line in lines),
    )


def print_table(answers: Sequence[Answer]) -> None:
    """Print the figures of each set and kind as Markdown."""
    groups: defaultdict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.case.set, answer.case.kind].append(answer)
        if answer.case.set == "pairs" and "German" not in answer.case.kind:
            total = "all that replace" if answer.case.changes else "all that don't"
            groups["pairs", total].append(answer)
    print(
        "| set | kind | questions | right | T@1 | first 3 | first 8 | both in context | until"
        " | marks right | wrong |"
    )
    print("| --- " * 11 + "|")
    for (name, kind), group in sorted(groups.items()):
        shares = [
            sum(one.is_right for one in group),
            *(sum(one.wanted <= depth for one in group) for depth in (1, 3, 8)),
            sum(len(one.together) == 2 for one in group),
        ]
        cells = " | ".join(f"{share / len(group):.2f}" for share in shares)
        # A pair that several questions show counts once.
        marks = {
            (one.case.namespace, one.case.user_id, *pair): False
            for one in group
            for pair in one.marked
        }
        for one in group:
            for pair, is_right in one.marked.items():
                marks[one.case.namespace, one.case.user_id, *pair] |= is_right
        counts = (sum(one.until for one in group), sum(marks.values()))
        wrong = len(marks) - sum(marks.values())
        print(f"| {name} | {kind} | {len(group)} | {cells} | {counts[0]} | {counts[1]} | {wrong} |")


def read_cases(options: argparse.Namespace) -> list[Case]:
    """Return the questions of the chosen sets; store what is not stored yet."""
    cases: list[Case] = []
    halves = ("even", "odd") if options.half == "both" else (options.half,)
    for name in options.sets or SETS:
        if name == "mentions":
            cases += read_mentions(options.shared)
            continue
        for half in halves:
            read = read_facts if name == "facts" else read_pairs
            own, conversations = read(half, options.namespace)
            cases += own
            url = options.database_url
            with MemSense.open(url, namespace=own[0].namespace) as memory:
                ingest_gold(memory, conversations)
    return cases


def measure(options: argparse.Namespace) -> list[Answer]:
    """Ask the questions of the chosen sets."""
    answers: list[Answer] = []
    overrides = {name: values[0] for name, values in parse_grid(options.override).items()}
    by_namespace: defaultdict[str, list[Case]] = defaultdict(list)
    for case in read_cases(options):
        by_namespace[case.namespace].append(case)
    for namespace, cases in by_namespace.items():
        with MemSense.open(options.database_url, namespace=namespace) as memory:
            profile = PROFILES[options.profile].override(**overrides)
            answers += [ask(memory, case, profile) for case in cases]
    return answers


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
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; default: all")
    parser.add_argument("--half", choices=("even", "odd", "both"), default="odd", help="of the ids")
    parser.add_argument("--override", action="append", default=[], help="NAME=VALUE of the profile")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the panel's sets")
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
    answers = measure(options)
    if options.json:
        for one in answers:
            row = {**asdict(one), "marked": [*one.marked.items()], "right": one.is_right}
            print(json.dumps(row, ensure_ascii=False, default=sorted))
    else:
        print_table(answers)


if __name__ == "__main__":
    main()
