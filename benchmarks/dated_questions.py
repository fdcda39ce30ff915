"""Times that are read in the questions of the panel's sets, listed to be checked by hand.

    python -m benchmarks.dated_questions made-work made-letters

Each line has the question's id, the words, the days, the confidence and the question. Without
`--now` a question is asked when its set says, else at a fixed moment.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.panel_sets import PanelSet, choose_sets, find_sets
from memsense.search.question.time.engine import find_intervals

EVALUATION = Path("../shared/eval")
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
LONGEST = 160


def list_times(panel_set: PanelSet, now: datetime | None) -> tuple[int, int, int]:
    """Print the times of a set's questions.

    Returns:
        How many questions there are, how many of them name a time, and how many times they name.
    """
    questions = [question for memory in panel_set.read() for question in memory.questions]
    dated = times = 0
    for question in questions:
        asked_at = now or (datetime.fromisoformat(question.asked_at) if question.asked_at else NOW)
        intervals = find_intervals(question.text, now=asked_at)
        dated += bool(intervals)
        times += len(intervals)
        for item in intervals:
            start = max(0, item.span[0] - LONGEST // 2)
            text = question.text[start : start + LONGEST].replace("\n", " ")
            days = f"{item.first} to {item.last} ({item.confidence:.1f}, {item.reading})"
            print(f"{question.question_id}  [{item.text}]  {days}  {text}")
    return len(questions), dated, times


def main() -> None:
    """Print the times of the sets that are named, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; all without any")
    parser.add_argument("--panel", type=Path, default=EVALUATION / "panel")
    parser.add_argument("--locomo", type=Path, default=EVALUATION / "locomo10.json")
    parser.add_argument("--beam", type=Path, default=EVALUATION / "beam100k.jsonl")
    parser.add_argument("--now", type=datetime.fromisoformat, help="when the questions are asked")
    options = parser.parse_args()
    sets = find_sets(options.panel, options.locomo, options.beam)
    counts = {item.name: list_times(item, options.now) for item in choose_sets(sets, options.sets)}
    for name, (questions, dated, times) in counts.items():
        print(f"{name}: {questions} questions, {dated} with a time, {times} times")


if __name__ == "__main__":
    main()
