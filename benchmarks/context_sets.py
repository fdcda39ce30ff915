"""What reaches the model of pasted, long and unrelated prompts: the figures of `memory.context`.

    MEMSENSE_DATA_DIR=... python -m benchmarks.context_sets [ROW...] [--folder F] [--personal FILE]

Asks a stored panel (`python -m benchmarks.panel store`) and stores nothing. Rows: `pasted`,
`cut`, `prose`, `work`, `prefeval`, `general`, `personal`, `agent`, `time`; all by default. A prompt
speaks if it gets more than standing rules.
`--pastes` and `--personal` name files of more cases, a JSON object a line: `prompt`, with
`question`, or with `kind` "personal" or "general".
"""

import argparse
import gzip
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.panel_sets import SUFFIX, make_question, read_memories
from memsense import MemSense
from memsense.evaluation.context import normalise, read_unrelated
from memsense.hooks.recall import Recaller
from memsense.text.prompts import cut_prompt, searched

LENGTHS = (800, 1_600, 3_200)
GENERAL_STORES = ("made-work", "prefeval", "made-agent", "made-long")
OWN_PERSONAL = (
    "What is my blood type?",
    "When is my wedding anniversary?",
    "Which size of ring does my wife wear?",
    "What did my landlord say about the balcony?",
    "What's my usual order at the Thai place?",
    "Where did I park the motorbike?",
    "What was the name of my first teacher?",
    "Who is my dentist?",
    "When did I last have my eyes tested?",
    "How much did we pay for the sofa?",
    "Which vaccination do I still need?",
    "What's the PIN of my garage door?",
    "On which day does my daughter have piano lessons?",
    "What did I give my father for Christmas?",
    "Which hotel did we stay at in Lisbon?",
    "Do I prefer the window or the aisle?",
    "What is the name of my accountant?",
    "How tall is my son?",
    "Which of my friends plays the cello?",
    "When does my gym membership end?",
)
_SUBJECTS = "The team|A reader|This part|Such a plan|The second draft|Every version|A short note"
_VERBS = "shows|explains|keeps|describes|changes|brings together|leaves out|comes back to"
_OBJECTS = (
    "the order of the steps|what was said before|a simple idea|the reasons behind it"
    "|the usual way of working|some open points|the costs of waiting|a longer story"
)
_ENDS = (
    "because it is easier to follow|and nobody has to guess|as long as the scope stays small"
    "|while the rest stays as it is|so that the next step is clear|before anything is decided"
    "|in a calm and friendly tone|without going into every detail"
)


def write_prose(length: int, seed: int) -> str:
    """Return prose as an assistant writes it, put together from parts."""
    draw = random.Random(seed)
    text = ""
    while len(text) < length:
        parts = (draw.choice(it.split("|")) for it in (_SUBJECTS, _VERBS, _OBJECTS, _ENDS))
        text += " ".join(parts) + (".\n\n" if draw.random() < 0.15 else ". ")
    return text[:length].rsplit(". ", 1)[0] + "."


def ask_set(folder: Path, name: str) -> Iterator[tuple[dict[str, Any], Any, Any]]:
    """Yield the questions of a set with the arguments of their search."""
    for memory in read_memories(folder / f"{name}{SUFFIX}"):
        for item in memory.questions:
            question = make_question(memory, item)
            arguments = {
                "user_id": memory.conversation_id,
                "asked_at": question.asked_at,
                "exclude_sessions": question.hidden_sessions,
                "exclude": question.hidden_turns,
            }
            yield arguments, item, question


def has_gold(memory: MemSense, item: Any, chunk_ids: Any) -> bool:
    """Return whether one of the chunks holds a gold turn."""
    gold = set(item.gold_turn_ids)
    return any(gold & set(memory.get(it).message_ids) for it in chunk_ids)


def plain_questions(folder: Path) -> dict[str, Any]:
    """Return the questions of made-pasted without a paste."""
    items = [item for _, item, _ in ask_set(folder, "made-pasted")]
    return {item.text: item for item in items if item.category == "pasted-0"}


def measure_pasted(folder: Path) -> None:
    """Print how many pasted prompts have their gold in the context."""
    counts: Counter[str | tuple[str, str]] = Counter()
    with MemSense.open(namespace="panel-made-pasted") as memory:
        for arguments, item, _ in ask_set(folder, "made-pasted"):
            kind = "alone" if item.category == "pasted-0" else "pasted"
            counts[kind] += 1
            context = memory.context(item.text, **arguments)
            counts[kind, "gold"] += has_gold(memory, item, context.chunk_ids)
            counts[kind, "tokens"] += context.tokens
    for kind in ("alone", "pasted"):
        tokens = counts[kind, "tokens"] / counts[kind]
        print(f"made-pasted, {kind}: gold in the context of {counts[kind, 'gold']}", end=" ")
        print(f"of {counts[kind]}, {tokens:.0f} tokens")


def measure_cut(folder: Path, pastes: Path | None) -> None:
    """Print how many prompts without a paste are cut, and what is recovered of others."""
    count = cut = 0
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name.startswith("made-pasted"):
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for question in json.loads(line)["questions"]:
                    count += 1
                    cut += any(part.kind == "pasted" for part in cut_prompt(question["text"]))
    print(f"other prompts of the panel: {cut} of {count} cut")
    if pastes:
        kinds: Counter[str] = Counter()
        for line in pastes.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found = "\n".join(searched(row["prompt"], 1_000_000))
            exact, held = found == row["question"], row["question"] in found
            kinds["exact" if exact else "held" if held else "lost"] += 1
        print(f"other pastes: {dict(kinds)}")


def measure_prose(folder: Path) -> None:
    """Print how many questions within long prose have their gold in 10 hits and in the context."""
    found: Counter[tuple[int, str]] = Counter()
    with MemSense.open(namespace="panel-made-pasted") as memory:
        for number, (text, item) in enumerate(plain_questions(folder).items()):
            for length in LENGTHS:
                prose = write_prose(length, 10 * number + length)
                middle = prose.find(". ", length // 2) + 2
                for place, prompt in (
                    ("first", f"{text}\n\n{prose}"),
                    ("last", f"{prose}\n\n{text}"),
                    ("middle", f"{prose[:middle]}\n\n{text}\n\n{prose[middle:]}"),
                ):
                    context = memory.context(prompt, user_id="tune-pasted", silence=0)
                    # Lines of a prompt name their hit's place.
                    first = [
                        line.chunk_id
                        for line in context.lines
                        if line.because.startswith("hit ")
                        and int(line.because[4:].split(",")[0]) <= 10
                    ]
                    found[length, place] += has_gold(memory, item, first)
                    spoken = memory.context(prompt, user_id="tune-pasted")
                    found[length, "spoken"] += has_gold(memory, item, spoken.chunk_ids)
    total = sum(value for (_, place), value in found.items() if place != "spoken")
    spoken = sum(value for (_, place), value in found.items() if place == "spoken")
    print(f"in prose: gold within 10 hits for {total} of 90, in the default context for {spoken}")
    print(f"  {dict(found)}")


def measure_spoken(folder: Path, name: str) -> None:
    """Print for how many prompts of a set the context speaks."""
    counts: Counter[str] = Counter()
    with MemSense.open(namespace=f"panel-{name}") as memory:
        for arguments, item, _ in ask_set(folder, name):
            spoken = bool(memory.context(item.text, rules=False, **arguments))
            if item.want_silence:
                counts["unrelated"] += 1
                counts["unrelated speak"] += spoken
            elif item.gold_ok and item.answerable:
                hits = memory.search(item.text, top_k=10, **arguments)
                found = has_gold(memory, item, [hit.chunk_id for hit in hits])
                counts["known"] += 1
                counts["known speak"] += spoken
                counts["found"] += found
                counts["found speak"] += found and spoken
    print(f"{name}: {dict(counts)}")


def measure_silent(folder: Path, row: str, personal: Path | None) -> None:
    """Print how many general or personal prompts about nothing stored get a context."""
    cases: dict[str, Sequence[str]] = (
        {"own": OWN_PERSONAL}
        if row == "personal"
        else {"own": [item.prompt for item in read_unrelated()][::4]}
    )
    if personal:
        rows = [json.loads(line) for line in personal.read_text(encoding="utf-8").splitlines()]
        cases["file"] = [item["prompt"] for item in rows if item["kind"] == row]
    for name, prompts in cases.items():
        speak: Counter[str] = Counter()
        for store in GENERAL_STORES:
            user = next(iter(ask_set(folder, store)))[0]["user_id"]
            with MemSense.open(namespace=f"panel-{store}") as memory:
                for prompt in prompts:
                    speak[store] += bool(memory.context(prompt, user_id=user, rules=False))
        total = sum(speak.values())
        share = total / (len(prompts) * len(GENERAL_STORES))
        print(f"{row}, {name}: {total} of {len(prompts) * len(GENERAL_STORES)} speak", end=" ")
        print(f"({share:.2f}) {dict(speak)}")


def measure_agent(folder: Path) -> None:
    """Print how many prompts of made-agent get the sentence that answers them."""
    held = found = tokens = 0
    path = folder / f"made-agent{SUFFIX}"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = {q["id"]: q["gold_text"] for line in lines for q in json.loads(line)["questions"]}
    with MemSense.open(namespace="panel-made-agent") as memory:
        for arguments, item, _ in ask_set(folder, "made-agent"):
            context = memory.context(item.text, silence=0, max_tokens=1_000, **arguments)
            held += normalise(texts[item.id]) in normalise(context)
            found += has_gold(memory, item, context.chunk_ids)
            tokens += context.tokens
    print(
        f"made-agent: gold sentence in {held} of 12, message in {found}, {tokens / 12:.0f} tokens"
    )


def measure_time() -> None:
    """Print the processor time of a prompt with 2 MB of log, as a share of the prompt's alone."""
    question = "Who should I call when the importer fails?"
    draw = random.Random(1)
    lines = [
        f"2026-03-04 06:{draw.randrange(60):02}:07 INFO worker-{draw.randrange(9)} took"
        f" {draw.randrange(9999)} ms for batch {draw.randrange(10**6)}"
        for _ in range(16_500)
    ]
    log = "\n".join(lines)
    long = f"{log}\n\n{question}\n\n{log}"
    with MemSense.open(namespace="panel-made-pasted") as memory:
        user, recaller = memory.for_user("tune-pasted"), Recaller()
        for number, name in enumerate(("context", "hook")):
            used: dict[str, list[float]] = {"short": [], "long": []}
            for turn in range(40):
                for kind, prompt in (("short", question), ("long", long)):
                    started = time.process_time()
                    if number:
                        session = f"{kind}-{turn}"
                        text = recaller.recall(
                            user, session, prompt, project=None, max_tokens=1_000
                        )[0]
                    else:
                        text = user.context(prompt)
                    used[kind].append(time.process_time() - started)
                    assert "Benedikta" in text
            short, longer = (sorted(it)[len(it) // 2] for it in used.values())
            print(f"{name}: {len(long):,} characters take {longer / short:.2f} of a short", end=" ")
            print(f"prompt's processor time ({1000 * longer:.1f} and {1000 * short:.1f} ms)")


def main() -> None:
    """Measure the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--folder", type=Path, default=Path("../shared/eval/panel"))
    parser.add_argument("--personal", type=Path)
    parser.add_argument("--pastes", type=Path)
    options = parser.parse_args()
    folder = options.folder
    rows = {
        "pasted": lambda: measure_pasted(folder),
        "cut": lambda: measure_cut(folder, options.pastes),
        "prose": lambda: measure_prose(folder),
        "work": lambda: measure_spoken(folder, "made-work"),
        "prefeval": lambda: measure_spoken(folder, "prefeval"),
        "general": lambda: measure_silent(folder, "general", options.personal),
        "personal": lambda: measure_silent(folder, "personal", options.personal),
        "agent": lambda: measure_agent(folder),
        "time": measure_time,
    }
    for name in options.rows or rows:
        rows[name]()


if __name__ == "__main__":
    main()
