"""Gold sets of a user's own: their reader, and their ingestion into a memory, exactly once.

A line of the file is one conversation; docs/reference/gold-format.md describes the format.
"""

import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from memsense.client.memory import MemSense
from memsense.errors import EvaluationError
from memsense.evaluation.gold import GoldQuestion, GoldSet, GoldText
from memsense.ingest import ReadOptions
from memsense.types import Role

NO_CATEGORY = "all"
MEMORY_ROLES = frozenset[Role](("user", "assistant", "other"))
"""Roles whose messages become memory; those of tools and systems don't."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class GoldPart(BaseModel):
    """Part of a gold file; other fields than its own are ignored."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class GoldTurn(GoldPart):
    """Message; `name` is the speaker in a chat between people (role "other")."""

    id: Name
    role: Role
    content: str
    at: datetime | None = None
    name: str | None = None


class GoldSession(GoldPart):
    """Messages in their order; `at` is the time of messages that have none."""

    session_id: Name
    turns: Sequence[GoldTurn]
    at: datetime | None = None


class GoldItem(GoldPart):
    """Question of the file; it is counted as skipped if it has no gold turns."""

    question: Name
    gold: frozenset[str]
    id: Name | None = None
    category: str = NO_CATEGORY
    asked_at: datetime | None = None
    split: str = ""


class GoldConversation(GoldPart):
    """Memory of one user, and the questions about it."""

    conversation_id: Name
    sessions: Sequence[GoldSession]
    questions: Sequence[GoldItem] = ()

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        _check_unique("session_id", (session.session_id for session in self.sessions))
        _check_unique("turn id", (turn.id for _, turn in self.turns()))
        if not any(turn.content.strip() for _, turn in self.turns() if turn.role in MEMORY_ROLES):
            raise ValueError("no turn of a user, an assistant or a person has any text")
        # Gold that can't be found would count as a miss of every profile, so that it is refused.
        sessions = self.map_sessions()
        for item in self.questions:
            if unknown := item.gold - sessions.keys():
                raise ValueError(
                    f"the question {item.question!r} has gold that is no turn of a user, an"
                    f" assistant or a person here: {', '.join(sorted(unknown))}"
                )
        return self

    def turns(self) -> Iterator[tuple[GoldSession, GoldTurn]]:
        """Return every turn with its session, in order."""
        return ((session, turn) for session in self.sessions for turn in session.turns)

    def map_sessions(self) -> dict[str, str]:
        """Return the session of each turn that becomes memory, by the turn's id."""
        return {
            turn.id: session.session_id
            for session, turn in self.turns()
            if turn.role in MEMORY_ROLES
        }


def _check_unique(label: str, names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"the {label} {repeated[0]!r} is there more than once")


def read_gold(path: Path) -> list[GoldConversation]:
    """Read the conversations of a gold file; blank lines are skipped.

    Args:
        path: The file, JSON Lines in UTF-8.

    Raises:
        EvaluationError: If a line can't be used; names the line and the field.
    """
    return read_conversations(path, GoldConversation.model_validate_json)


def read_conversations(
    path: Path, parse: Callable[[str], GoldConversation]
) -> list[GoldConversation]:
    """Read the conversations of a file whose lines `parse` reads; raises as `read_gold` does."""
    conversations: list[GoldConversation] = []
    line_of: dict[str, int] = {}
    for number, line in _read_lines(path):
        try:
            conversation = parse(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            message = f"{place}: {first['msg']}" if place else first["msg"]
            raise EvaluationError(f"{path}, line {number}: {message}") from error
        identity = conversation.conversation_id
        if identity in line_of:
            raise EvaluationError(
                f"{path}, line {number}: conversation_id {identity!r} was on line"
                f" {line_of[identity]}"
            )
        line_of[identity] = number
        conversations.append(conversation)
    if not conversations:
        raise EvaluationError(f"{path} holds no conversation")
    return conversations


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that are not blank."""
    try:
        # utf-8-sig, since editors on Windows write a byte order mark.
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error


def gold_set(conversations: Sequence[GoldConversation], name: str) -> GoldSet:
    """Make the gold set of the conversations; questions without gold turns are only counted.

    Args:
        conversations: The conversations with their questions.
        name: Name of the gold set, shown in errors.

    Raises:
        EvaluationError: If two questions have one id, or no question has gold turns.
    """
    questions: list[GoldQuestion] = []
    skipped: Counter[str] = Counter()
    for conversation in conversations:
        sessions = conversation.map_sessions()
        texts = {
            turn.id: GoldText(text=turn.content, by_user=turn.role != "assistant")
            for _, turn in conversation.turns()
        }
        for number, item in enumerate(conversation.questions):
            if not item.gold:
                skipped[item.split] += 1
                continue
            question = GoldQuestion(
                question_id=item.id or f"{conversation.conversation_id}/{number}",
                user_id=conversation.conversation_id,
                question=item.question,
                gold_messages=item.gold,
                gold_sessions=frozenset(sessions[turn] for turn in item.gold),
                category=item.category,
                split=item.split,
                asked_at=item.asked_at,
                gold_texts={turn: texts[turn] for turn in item.gold},
            )
            questions.append(question)
    try:
        _check_unique("question id", (question.question_id for question in questions))
    except ValueError as error:
        raise EvaluationError(f"{name}: {error}") from error
    if not questions:
        raise EvaluationError(f"{name}: no question has gold turns")
    return GoldSet(name=name, questions=questions, skipped=dict(skipped))


def gold_namespace(path: Path, embedder: str = "") -> str:
    """Return a namespace for this file and embedder alone: `eval-<stem>-<hash of both>`.

    Args:
        path: The gold file.
        embedder: Name of the embedder; another one gets another namespace.

    Raises:
        EvaluationError: If the file can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error
    # By content, not by name: an edited file gets another namespace, and an equal one is ingested
    # once, wherever it lies.
    digest = hashlib.sha256(embedder.encode() + b"\0" + content).hexdigest()
    stem = _NOT_IN_NAMES.sub("-", path.stem)[:40]
    return f"eval-{stem}-{digest[:12]}"


def ingest_gold(
    memory: MemSense,
    conversations: Sequence[GoldConversation],
    *,
    on_conversation: Callable[[], object] = lambda: None,
) -> int:
    """Store each conversation as the memory of the user `conversation_id`, exactly once.

    Exchanges that are stored already are left alone, also after an interrupted run. Only turns are
    stored, never questions or gold.

    Args:
        memory: The memory to write to.
        conversations: The conversations.
        on_conversation: Called after each conversation.

    Returns:
        The number of new exchanges.
    """
    stored = 0
    with tempfile.TemporaryDirectory(prefix="memsense-eval-") as folder:
        # A log that is ingested, rather than calls of `add`: its ledger knows what is stored.
        log = Path(folder) / "conversation.jsonl"
        for conversation in conversations:
            with log.open("w", encoding="utf-8", newline="\n") as lines:
                for session, turn in conversation.turns():
                    lines.write(json.dumps(_make_row(session, turn)) + "\n")
            report = memory.ingest(
                log, user_id=conversation.conversation_id, options=ReadOptions(format="rows")
            )
            stored += report.stored
            on_conversation()
    return stored


def _make_row(session: GoldSession, turn: GoldTurn) -> dict[str, str]:
    """Return a turn as a row of a log in the format "rows"."""
    at = turn.at or session.at
    row = {
        "session_id": session.session_id,
        "id": turn.id,
        "role": turn.role,
        "name": turn.name,
        "content": turn.content,
        "timestamp": at.isoformat() if at else None,
    }
    return {name: value for name, value in row.items() if value}
