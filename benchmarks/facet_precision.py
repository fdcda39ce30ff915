"""Precision and recall of the facet rules on the hand-labelled sentences, per facet and rule.

    python benchmarks/facet_precision.py path/to/locomo10.json [--json] [--errors]

The labels (tests/quality/facet_labels.jsonl) hold no text: the sentences are read from the
LoCoMo file, and a digest tells when a sentence is no longer the one that was labelled. Each
sentence is tagged on its own, as a user's. A rule's precision counts its matches against its
facet's label. Errors are listed for the tuning half alone, so that the other half stays unread.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from rich.console import Console
from rich.table import Table

from memsense.draft.facets.model import FACETS, Facet, Facets
from memsense.draft.facets.rules import RULES
from memsense.draft.facets.sentences import split_sentences
from memsense.draft.facets.tagger import RuleTagger

# The labels name sentences by their place and digest: no text of LoCoMo is in this repository.
LABELS = Path(__file__).parents[1] / "tests" / "quality" / "facet_labels.jsonl"
Half = Literal["tuning", "held_out"]
HALVES: tuple[Half, ...] = ("tuning", "held_out")


class Label(TypedDict):
    sample: int
    dia_id: str
    sentence: int
    digest: str
    half: Half
    labels: list[Facet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Labelled sentence with the facets that the rules find in it."""

    text: str
    label: Label
    facets: Facets


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    right: int
    tagged: int
    labelled: int

    @property
    def precision(self) -> float | None:
        return self.right / self.tagged if self.tagged else None

    @property
    def recall(self) -> float | None:
        return self.right / self.labelled if self.labelled else None

    def as_json(self) -> dict[str, float | None]:
        return {
            "right": self.right,
            "tagged": self.tagged,
            "labelled": self.labelled,
            "precision": self.precision,
            "recall": self.recall,
        }


def judge_labels(locomo: Path) -> list[Judged]:
    """Tag every labelled sentence; a ValueError names one that has changed since."""
    turns = dict(_read_turns(json.loads(locomo.read_text(encoding="utf-8"))))
    tagger = RuleTagger()
    judged: list[Judged] = []
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        label = cast("Label", json.loads(line))
        text = _find_sentence(label, turns[label["sample"], label["dia_id"]])
        judged.append(Judged(text=text, label=label, facets=tagger.tag(text, "")))
    return judged


def _read_turns(samples: list[dict[str, Any]]) -> Iterator[tuple[tuple[int, str], str]]:
    for index, sample in enumerate(samples):
        for key, session in sample["conversation"].items():
            if key.startswith("session_") and isinstance(session, list):
                for turn in cast("list[dict[str, str]]", session):
                    yield (index, turn["dia_id"]), turn["text"]


def _find_sentence(label: Label, turn: str) -> str:
    start, end = list(split_sentences(turn))[label["sentence"]]
    text = turn[start:end]
    if hashlib.sha256(text.encode()).hexdigest()[:8] != label["digest"]:
        raise ValueError(f"{label['dia_id']}: this is not the sentence that was labelled")
    return text


def measure(judged: Iterable[Judged], facet: Facet, is_found: Callable[[Judged], bool]) -> Quality:
    pairs = [(is_found(one), facet in one.label["labels"]) for one in judged]
    return Quality(
        right=sum(tagged and labelled for tagged, labelled in pairs),
        tagged=sum(tagged for tagged, _ in pairs),
        labelled=sum(labelled for _, labelled in pairs),
    )


def measure_facet(judged: Iterable[Judged], facet: Facet) -> Quality:
    return measure(judged, facet, lambda one: any(s.facet == facet for s in one.facets.spans))


def measure_rule(judged: Iterable[Judged], rule: str, facet: Facet) -> Quality:
    return measure(judged, facet, lambda one: any(s.rule == rule for s in one.facets.spans))


def report(judged: list[Judged]) -> dict[str, Any]:
    halves = {half: [one for one in judged if one.label["half"] == half] for half in HALVES}
    return {
        "facets": {
            half: {facet: measure_facet(some, facet).as_json() for facet in FACETS}
            for half, some in {**halves, "all": judged}.items()
        },
        "rules": {
            rule.name: measure_rule(judged, rule.name, rule.facet).as_json() for rule in RULES
        },
    }


def print_tables(figures: dict[str, Any], console: Console) -> None:
    table = Table("half", "facet", "precision", "recall", "right/tagged", "right/labelled")
    for half, facets in figures["facets"].items():
        for facet, quality in facets.items():
            table.add_row(half, facet, *_cells(quality), _ratio(quality, "labelled"))
    console.print(table)
    table = Table("rule", "facet", "precision", "share of the facet", "right/tagged")
    for rule in RULES:
        table.add_row(rule.name, rule.facet, *_cells(figures["rules"][rule.name]))
    console.print(table)


def _cells(quality: dict[str, float | None]) -> tuple[str, str, str]:
    shares = (quality["precision"], quality["recall"])
    precision, recall = ("-" if share is None else f"{share:.2f}" for share in shares)
    return precision, recall, _ratio(quality, "tagged")


def _ratio(quality: dict[str, float | None], whole: str) -> str:
    return f"{quality['right']}/{quality[whole]}"


def print_errors(judged: list[Judged], console: Console) -> None:
    for one in judged:
        stated = {span.facet for span in one.facets.spans}
        if one.label["half"] == "tuning" and stated != set(one.label["labels"]):
            rules = ", ".join(span.rule for span in one.facets.spans)
            console.print(f"{one.label['labels']} but found {sorted(stated)} ({rules}): {one.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locomo", type=Path, help="the public locomo10.json")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--errors", action="store_true", help="list the tuning half's errors")
    options = parser.parse_args()
    judged = judge_labels(options.locomo)
    if options.json:
        print(json.dumps(report(judged)))
        return
    console = Console()
    print_tables(report(judged), console)
    if options.errors:
        print_errors(judged, console)


if __name__ == "__main__":
    main()
