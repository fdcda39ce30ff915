"""Comparison of the default profile with plain cosine and plain BM25 on chats with an assistant.

Nothing was tuned on these questions: 98 about the conversation log that ships with memsense
(30 of them in tests/data) and, where the shared sample logs are at hand, 15 about those. The gold
set has the format of `memsense eval jsonl`, and can be written to a file for it:

    python -m benchmarks.assistant_chats --database URL
    python -m benchmarks.assistant_chats --write gold.jsonl
"""

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import memsense
from memsense.client.memory import MemSense
from memsense.evaluation import (
    BM25,
    COSINE,
    ProfileRow,
    evaluate_profiles,
    gold_namespace,
    gold_set,
    ingest_gold,
    read_gold,
    tabulate,
)
from memsense.ingest import ReadOptions, expand_paths, read_source
from memsense.search.profiles import PROFILES, Profile
from memsense.types import Conversation

ROOT = Path(__file__).parents[1]
LOG = Path(memsense.__path__[0]) / "data" / "sample_conversation.jsonl"
QUESTIONS = ROOT / "tests" / "data" / "sample_questions.jsonl"
SAMPLES = Path(os.environ.get("MEMSENSE_SHARED_DIR", ROOT.parent / "shared")) / "samples"
# A fixed moment, so that "last week" means the same in every run.
ASKED_AT = datetime.fromisoformat("2025-04-14T08:00:00+02:00")

SHOWN = ("session.recall@1", "session.recall@5", "session.mrr", "turn.recall@5", "turn.recall@10")

BUNDLED_QUESTIONS = """
s01-m05 What is the name of Ines's daughter and how old is she?
s01-m07 Which school will Fenna attend?
s01-m10 How should a weekly review be structured?
s02-m05 Which gauge station gets corrected values?
s02-m09 Which host still had the old crontab?
s02-m11 How many duplicate rows were removed?
s02-m08 How do you upsert with the newest arrival winning?
s03-m03 Which dish did Fenna like when the mushrooms were hidden?
s03-m06 How much miso paste goes into the broth?
s03-m10 What can be cooked with a lot of celeriac?
s03-m09 When do they receive the vegetable box?
s04-m05 What finishing time did she aim for?
s04-m11 What size are the new running shoes?
s04-m02 How far was the long run in week 9 of the plan?
s05-m03 How humid was the bedroom in the morning?
s05-m05 Who is the landlord of the flat in Plagwitz?
s05-m11 Since when is she in the tenants' association?
s06-m08 Which interpolation makes Polars quantiles agree with pandas?
s06-m11 Who must approve the quantiles?
s07-m05 What present do Ines and Wessel give their mother?
s07-m09 What is the order number of the tree?
s08-m06 How do you ask for fish stock in Japanese?
s08-m10 When is Golden Week?
s09-m09 Who received the disk alerts although he had retired?
s09-m03 How much data did pg_wal hold?
s09-m07 Between which times were no readings stored on 18 February?
s10-m01 What salary increase did Elbsonde offer?
s10-m05 How many days on site did the Dresden company want?
s11-m11 Where does she keep her private tasks now?
s11-m01 What error code did the dishwasher show?
s12-m04 How were NaN values handled when porting the aggregation?
s12-m11 Which version was deployed with the new aggregation?
s13-m07 What is the physiotherapist called?
s13-m10 Which swimming stroke should she avoid?
s14-m03 When is Fenna's medical examination for school?
s14-m05 What costume did Fenna want for carnival?
s15-m03 What is the title of the talk in Halle?
s15-m13 Who is the contact person of the Python user group?
s16-m04 At what temperature is hojicha brewed?
s16-m11 On which days does Ines work from home?
s17-m05 How much is the rent of the flat in Connewitz?
s17-m09 What earlier end of the lease did Möbius & Tann offer?
s18-m06 How do you put a cursor on every match in Helix?
s18-m03 How long was her Vim configuration?
s19-m07 What is her new start number?
s20-m05 What is the train booking reference for the birthday trip?
s20-m13 What does her mother call Joost?
s21-m05 How many loggers send local time?
s21-m16 What does the Chinese note about the river say?
s22-m09 What happened to Ines in 1995?
s23-m07 What is the application number for the parking ban?
s23-m07 Who drives the truck on moving day?
s23-m09 What colour did Fenna choose for her wall?
s24-m01 How long was the rehearsal of the talk?
s24-m07 Which software made the slides?
s25-m01 Which station repeated the same time stamp four times?
s25-m05 How long are raw files kept?
s26-m01 How many people came to the talk?
s26-m07 What position did Ruprecht offer?
s26-m05 Where is the longer version of the talk to be given?
s27-m11 When does Fenna's passport expire?
s27-m13 Who is her Japanese tandem partner?
s28-m07 Which medicine does the dog take?
s28-m09 Did the new landlord agree to the dog?
s11-m01 What was broken in the kitchen on 22 February?
s16-m01 What did the doctor say about coffee at the beginning of March?
s19-m05 Which decision was made on 13 March?
s29-m07 Which plan does she drop before the move?
"""
"""The gold message's id and the question."""

SAMPLE_LOGS = ("chatgpt", "claude_ai", "claude_code", "openai_jsonl", "sharegpt")
CHATGPT = "6857150a-cd20-800f-a5f7-d2404f94b935"
CLAUDE_CODE = "1af7fc5e-8455-4414-9ccd-011d40f70b2a"
OPENAI = "llamafactory_tools_reasoning_trimmed"

SAMPLE_QUESTIONS = f"""
{CHATGPT}#1 Which gas do plants give off while they make sugar?
{CHATGPT}#1 What do plants draw from the ground to feed themselves?
{CHATGPT}#3 Why can't a plant grow in the dark?
{CHATGPT}#5 What is a community of organisms and their surroundings called?
{CHATGPT}#7 Can a pond feel anything?
{CHATGPT}#9 Do woods have thoughts?
test-conv-2#3 Which built-in puts elements in order and leaves the original alone?
test-conv-2#2 What kind of function had to be written?
edge_cases#5 Which scripts were tried in the test of special characters?
edge_cases#2 Which placeholder text was used to test line wrapping?
{CLAUDE_CODE}#1 Was there any code in the repository?
{CLAUDE_CODE}#2 Which file of guidance was created for later?
{OPENAI}:1:906ee585#1 Why could no school be looked up by coordinates?
{OPENAI}:2:4caf7c06#1 Who made the film of 2010?
{OPENAI}:2:4caf7c06#3 How is the Batman film rated?
"""
"""The gold message as session#index and the question."""


def build_gold(samples: Path | None) -> list[dict[str, Any]]:
    """Return the conversations of the gold set, in the format of `memsense eval jsonl`."""
    bundled = {
        "conversation_id": "bundled",
        "sessions": list(_bundled_sessions()),
        "questions": [*_shipped_questions(), *_own_questions(BUNDLED_QUESTIONS, "bundled")],
    }
    if samples is None or not samples.exists():
        return [bundled]
    sessions = list(_sample_sessions(samples))
    questions = _own_questions(SAMPLE_QUESTIONS, "samples")
    return [
        bundled,
        {"conversation_id": "samples", "sessions": sessions, "questions": list(questions)},
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _bundled_sessions() -> Iterator[dict[str, Any]]:
    for session_id, rows in groupby(_rows(LOG), key=lambda row: row["session_id"]):
        turns = [
            {
                "id": row["id"],
                "role": row["role"],
                "content": row["content"],
                "at": row["timestamp"],
            }
            for row in rows
        ]
        yield {"session_id": session_id, "turns": turns}


def _sample_sessions(samples: Path) -> Iterator[dict[str, Any]]:
    for source in expand_paths([str(samples / name) for name in SAMPLE_LOGS]):
        for conversation in read_source(source, ReadOptions()):
            yield {"session_id": conversation.session_id, "turns": _turns(conversation)}


def _turns(conversation: Conversation) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{conversation.session_id}#{index}",
            "role": message.role,
            "content": message.text,
            "at": message.at.isoformat() if message.at else None,
        }
        for index, message in enumerate(conversation.messages)
    ]


def _shipped_questions() -> Iterator[dict[str, Any]]:
    for row in _rows(QUESTIONS):
        yield _question(row["question"], row["gold_message_ids"], "bundled")


def _own_questions(table: str, split: str) -> Iterator[dict[str, Any]]:
    for line in table.strip().split("\n"):
        gold, _, question = line.partition(" ")
        yield _question(question, [gold], split)


def _question(question: str, gold: Iterable[str], split: str) -> dict[str, Any]:
    return {
        "question": question,
        "gold": list(gold),
        "split": split,
        "asked_at": ASKED_AT.isoformat(),
    }


def write_gold(path: Path, samples: Path | None) -> None:
    lines = [json.dumps(conversation, ensure_ascii=False) for conversation in build_gold(samples)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(path: Path, database: str | None, profiles: Sequence[Profile]) -> list[ProfileRow]:
    """Compare each baseline with the first profile, over all questions of the file."""
    conversations = read_gold(path)
    with MemSense.open(database, namespace=gold_namespace(path)) as memory:
        ingest_gold(memory, conversations)
        gold = gold_set(conversations, path.stem)
        return tabulate(evaluate_profiles(memory, gold, profiles))


def print_rows(rows: Sequence[ProfileRow]) -> None:
    print("means with 95% intervals, and how much each gains over the first")
    for row in rows:
        gains = {difference.metric: difference for difference in row.differences}
        print(row.profile)
        for name in SHOWN:
            mean = row.means[name]
            line = f"  {name:18} {mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"
            if gain := gains.get(name):
                line += f"  {gain.difference:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
                line += f" p={gain.p_value:.3f} (+{gain.wins} ={gain.ties} -{gain.losses})"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", help="PostgreSQL URL; default: the embedded server")
    parser.add_argument("--profile", default="balanced", choices=sorted(PROFILES))
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="folder of sample logs")
    parser.add_argument("--bundled-only", action="store_true", help="leave the sample logs out")
    parser.add_argument("--write", type=Path, help="only write the gold set to this file")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    samples = None if arguments.bundled_only else arguments.samples
    if arguments.write:
        write_gold(arguments.write, samples)
        return
    profiles = [PROFILES[arguments.profile], COSINE, BM25]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "assistant_chats.jsonl"
        write_gold(path, samples)
        rows = measure(path, arguments.database, profiles)
    if arguments.json:
        print(json.dumps([row.as_dict() for row in rows]))
    else:
        print_rows(rows)


if __name__ == "__main__":
    main()
