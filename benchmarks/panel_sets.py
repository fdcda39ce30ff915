"""Sets of the panel: memories of many kinds, and the questions about each that count.

A set is a file NAME.jsonl.gz whose lines are memories, or a half of LoCoMo or of BEAM, which the
readers of memsense.evaluation read. benchmarks/results/recall.md describes the files and how
questions count. No set is part of the project.
"""

import calendar
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from memsense.errors import EvaluationError
from memsense.evaluation import GoldConversation, gold_set, read_beam, read_locomo
from memsense.evaluation.gold import GoldQuestion
from memsense.evaluation.jsonl import GoldPart, GoldSession, GoldTurn, Name
from memsense.types import Role

SUFFIX = ".jsonl.gz"
OWN_NAMES = frozenset(("", "me", "user"))
"""Speakers of a user's message that are no names."""

_MONTH = re.compile(r"(\d{4})-(\d{2})")


class PanelTurn(GoldPart):
    """Message of a session; `at` is its own time."""

    id: Name
    role: Role
    text: str
    speaker: str | None = None
    at: datetime | None = None


class PanelSession(GoldPart):
    """Messages in their order; `timestamp` is the time of those that have none."""

    id: Name
    turns: Sequence[PanelTurn]
    timestamp: datetime | None = None


class PanelQuestion(GoldPart):
    """Question as the file has it; most sets lack most of the fields.

    `gold_groups` holds turns that tell the same. `before_session` is the session that the question
    was put in, and `turn_in_session` the number of turns before it there.
    """

    id: Name
    text: Name
    answerable: bool
    gold_ok: bool
    gold_turn_ids: Sequence[str]
    category: str = ""
    gold_groups: Sequence[frozenset[str]] = ()
    asked_at: str | None = None
    before_session: str | None = None
    turn_in_session: int = 0
    other_turn_ids: frozenset[str] = frozenset()
    want_silence: bool = False


class PanelMemory(GoldPart):
    """Line of a file: the memory of one user, and the questions about it."""

    conversation_id: Name
    sessions: Sequence[PanelSession]
    questions: Sequence[PanelQuestion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question that counts, or a prompt for which nothing stored helps.

    Attributes:
        question_id: Its id.
        text: What is searched for.
        category: Its kind in the set.
        gold: Groups of turns; a group counts as found if one of its turns is. Empty for a prompt
            that wants silence.
        others: Turns that should stand below the gold.
        asked_at: The current time when it was put; None for now.
        hidden_sessions: Sessions that were not there yet.
        hidden_turns: Turns of the question's own session that were not there yet.
    """

    question_id: str
    text: str
    category: str
    gold: Sequence[frozenset[str]]
    others: frozenset[str] = frozenset()
    asked_at: str | None = None
    hidden_sessions: Sequence[str] = ()
    hidden_turns: Sequence[str] = ()

    @property
    def wants_silence(self) -> bool:
        """Return whether nothing stored helps."""
        return not self.gold


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of one user. `conversation` is None where the set's file is ingested as it is."""

    user_id: str
    questions: Sequence[Question]
    conversation: GoldConversation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSet:
    """A set: its file, and the split of its questions, if there are several.

    `stored_as` is the name of what is stored, which sets of one file share.
    """

    name: str
    path: Path
    stored_as: str
    split: str = ""

    @property
    def is_log(self) -> bool:
        """Return whether the file is a log that memsense ingests."""
        return self.stored_as == "locomo"

    def read(self, *, own_session: bool = False) -> list[Memory]:
        """Return the memories with their questions.

        Args:
            own_session: Whether the turns before a prompt in its own session may be found; else
                the whole session is hidden, as a chat's prompt has it already.

        Raises:
            EvaluationError: If the file can't be read; names the line.
        """
        if self.is_log:
            questions = read_locomo(self.path).only(self.split).questions
            return [
                Memory(user_id=user_id, questions=[_read_gold(gold) for gold in group])
                for user_id, group in groupby(questions, key=lambda gold: gold.user_id)
            ]
        if self.stored_as == "beam":
            conversations = read_beam(self.path)
            gold = gold_set(conversations, self.name).only(self.split).questions
            by_id = {item.conversation_id: item for item in conversations}
            return [
                Memory(
                    user_id=user_id,
                    questions=[_read_gold(item) for item in group],
                    conversation=by_id[user_id],
                )
                for user_id, group in groupby(gold, key=lambda item: item.user_id)
            ]
        return [_make_memory(memory, own_session) for memory in read_memories(self.path)]


def find_sets(folder: Path, locomo: Path, beam: Path) -> dict[str, PanelSet]:
    """Return the sets of the files that exist, by name."""
    sets = [
        PanelSet(name=f"{stem}-{split}", path=path, stored_as=stem, split=split)
        for stem, path, splits in (
            ("locomo", locomo, ("0-4", "5-9")),
            ("beam", beam, ("1-10", "11-20")),
        )
        for split in splits
        if path.exists()
    ]
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        name = path.name.removesuffix(SUFFIX)
        sets.append(PanelSet(name=name, path=path, stored_as=name))
    return {item.name: item for item in sets}


def choose_sets(sets: Mapping[str, PanelSet], names: Iterable[str]) -> list[PanelSet]:
    """Return the named sets, all without names; "locomo" and "beam" name both halves.

    Raises EvaluationError, which lists the sets, if there is none of a name.
    """
    chosen: dict[str, PanelSet] = {}
    for name in names:
        same = {item.name: item for item in sets.values() if name in (item.name, item.stored_as)}
        if not same:
            raise EvaluationError(
                f"there is no set {name!r}; there are {', '.join(sets) or 'none at all'}"
            )
        chosen |= same
    return list(chosen.values() if chosen else sets.values())


def read_memories(path: Path) -> Iterator[PanelMemory]:
    """Yield the memories of a file; raise EvaluationError for what can't be read."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield PanelMemory.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    place = ".".join(str(part) for part in first["loc"])
                    message = f"{path}, line {number}: {place}: {first['msg']}"
                    raise EvaluationError(message) from error
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error


def _make_memory(memory: PanelMemory, own_session: bool) -> Memory:
    questions = [
        make_question(memory, item, own_session=own_session)
        for item in memory.questions
        if item.want_silence
        or (item.gold_ok and item.answerable and (item.gold_groups or item.gold_turn_ids))
    ]
    conversation = GoldConversation(
        conversation_id=memory.conversation_id,
        sessions=[
            GoldSession(
                session_id=session.id,
                at=session.timestamp,
                turns=[_make_turn(turn) for turn in session.turns],
            )
            for session in memory.sessions
        ],
    )
    return Memory(user_id=memory.conversation_id, questions=questions, conversation=conversation)


def _make_turn(turn: PanelTurn) -> GoldTurn:
    named = turn.role == "other" or (turn.role == "user" and turn.speaker not in OWN_NAMES)
    return GoldTurn(
        id=turn.id,
        role=turn.role,
        content=turn.text,
        at=turn.at,
        name=turn.speaker if named else None,
    )


def make_question(
    memory: PanelMemory, question: PanelQuestion, *, own_session: bool = False
) -> Question:
    """Return a question by the panel's rules; `own_session` as for `PanelSet.read`."""
    asked_at = end_of_month(question.asked_at)
    hidden_sessions: list[str] = []
    hidden_turns: list[str] = []
    if question.before_session:
        ids = [session.id for session in memory.sessions]
        place = ids.index(question.before_session)
        own = memory.sessions[place]
        hidden_sessions = ids[place:]
        if own_session:
            hidden_sessions = ids[place + 1 :]
            hidden_turns = [turn.id for turn in own.turns[question.turn_in_session :]]
        if asked_at is None and own.timestamp:
            asked_at = own.timestamp.isoformat()
    gold = [group for group in question.gold_groups if group]
    return Question(
        question_id=question.id,
        text=question.text,
        category=question.category,
        gold=()
        if question.want_silence
        else gold or [frozenset((turn_id,)) for turn_id in question.gold_turn_ids],
        others=question.other_turn_ids,
        asked_at=asked_at,
        hidden_sessions=hidden_sessions,
        hidden_turns=hidden_turns,
    )


def end_of_month(text: str | None) -> str | None:
    """Return a time as memory takes it: the last minute of a month such as "2025-02"."""
    if text and (month := _MONTH.fullmatch(text)):
        last = calendar.monthrange(int(month[1]), int(month[2]))[1]
        return f"{text}-{last}T23:59:00"
    return text


def _read_gold(gold: GoldQuestion) -> Question:
    return Question(
        question_id=gold.question_id,
        text=gold.question,
        category=gold.category,
        gold=[frozenset((turn_id,)) for turn_id in sorted(gold.gold_messages)],
        asked_at=gold.asked_at.isoformat() if gold.asked_at else None,
    )
