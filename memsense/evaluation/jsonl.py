"""Reads anyone's own gold set, one conversation a line, and puts it into a memory once.

docs/evaluation.md describes the format.
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
from memsense.evaluation.gold import GoldQuestion, GoldSet
from memsense.ingest import ReadOptions
from memsense.types import Role

NO_CATEGORY = "all"
KEPT_ROLES = frozenset[Role](("user", "assistant", "other"))
"""Whose messages become memory; those of tools and systems don't."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class GoldPart(BaseModel):
    """Part of a gold file; fields it doesn't name are ignored."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class GoldTurn(GoldPart):
    """One message; `name` is who speaks where people talk to each other (role "other")."""

    id: Name
    role: Role
    content: str
    at: datetime | None = None
    name: str | None = None


class GoldSession(GoldPart):
    """Messages in their order; `at` holds for those without a time of their own."""

    session_id: Name
    turns: Sequence[GoldTurn]
    at: datetime | None = None


class GoldItem(GoldPart):
    """A question as the file has it; without gold turns it is counted as skipped."""

    question: Name
    gold: frozenset[str]
    id: Name | None = None
    category: str = NO_CATEGORY
    asked_at: datetime | None = None
    split: str = ""


class GoldConversation(GoldPart):
    """One user's memory, and the questions that are asked of it."""

    conversation_id: Name
    sessions: Sequence[GoldSession]
    questions: Sequence[GoldItem] = ()

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        _refuse_repeated("session_id", (session.session_id for session in self.sessions))
        _refuse_repeated("turn id", (turn.id for _, turn in self.turns()))
        if not any(turn.content.strip() for _, turn in self.turns() if turn.role in KEPT_ROLES):
            raise ValueError("no turn of a user, an assistant or a person has any text")
        homes = self.homes()
        for item in self.questions:
            if unknown := item.gold - homes.keys():
                raise ValueError(
                    f"the question {item.question!r} has gold that is no turn of a user, an"
                    f" assistant or a person here: {', '.join(sorted(unknown))}"
                )
        return self

    def turns(self) -> Iterator[tuple[GoldSession, GoldTurn]]:
        """Every turn with its session, in order."""
        return ((session, turn) for session in self.sessions for turn in session.turns)

    def homes(self) -> dict[str, str]:
        """The session of each turn that becomes memory."""
        return {
            turn.id: session.session_id for session, turn in self.turns() if turn.role in KEPT_ROLES
        }


def _refuse_repeated(what: str, names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"the {what} {repeated[0]!r} is there more than once")


def read_gold(path: Path) -> list[GoldConversation]:
    """The conversations of a gold file; blank lines are passed over.

    Raises EvaluationError naming the line and the field that can't be used.
    """
    return read_conversations(path, GoldConversation.model_validate_json)


def read_conversations(
    path: Path, parse: Callable[[str], GoldConversation]
) -> list[GoldConversation]:
    """As `read_gold`, of a file whose lines `parse` reads."""
    conversations: list[GoldConversation] = []
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            conversation = parse(line)
        except ValidationError as error:
            raise EvaluationError(f"{path}, line {number}: {_describe(error)}") from error
        identity = conversation.conversation_id
        if identity in seen:
            raise EvaluationError(
                f"{path}, line {number}: conversation_id {identity!r} was on line {seen[identity]}"
            )
        seen[identity] = number
        conversations.append(conversation)
    if not conversations:
        raise EvaluationError(f"{path} holds no conversation")
    return conversations


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def gold_set(conversations: Sequence[GoldConversation], name: str) -> GoldSet:
    """The questions of the conversations; those without gold turns are only counted.

    Raises EvaluationError when two questions have one id, or none has gold turns.
    """
    questions = [
        question for conversation in conversations for question in _questions(conversation)
    ]
    skipped = Counter(
        item.split
        for conversation in conversations
        for item in conversation.questions
        if not item.gold
    )
    try:
        _refuse_repeated("question id", (question.question_id for question in questions))
    except ValueError as error:
        raise EvaluationError(f"{name}: {error}") from error
    if not questions:
        raise EvaluationError(f"{name}: no question has gold turns")
    return GoldSet(name=name, questions=questions, skipped=dict(skipped))


def _questions(conversation: GoldConversation) -> Iterator[GoldQuestion]:
    homes = conversation.homes()
    for number, item in enumerate(conversation.questions):
        if item.gold:
            yield GoldQuestion(
                question_id=item.id or f"{conversation.conversation_id}/{number}",
                user_id=conversation.conversation_id,
                question=item.question,
                gold_messages=item.gold,
                gold_sessions=frozenset(homes[turn] for turn in item.gold),
                category=item.category,
                split=item.split,
                asked_at=item.asked_at,
            )


def gold_namespace(path: Path, embedder: str = "") -> str:
    """A namespace for this file and embedder alone: `eval-<stem>-<hash of both>`.

    Raises EvaluationError when the file can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error
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

    What is stored already is left alone, also after an interrupted run. Only turns are handed
    over, never questions or gold. Returns how many exchanges are new.
    """
    stored = 0
    with tempfile.TemporaryDirectory(prefix="memsense-eval-") as folder:
        log = Path(folder) / "conversation.jsonl"
        for conversation in conversations:
            _write_log(log, conversation)
            report = memory.ingest(
                log, user_id=conversation.conversation_id, options=ReadOptions(format="rows")
            )
            stored += report.stored
            on_conversation()
    return stored


def _write_log(log: Path, conversation: GoldConversation) -> None:
    """The turns as rows of a log that ingest reads: one message a line."""
    with log.open("w", encoding="utf-8", newline="\n") as lines:
        for session, turn in conversation.turns():
            lines.write(json.dumps(_row(session, turn)) + "\n")


def _row(session: GoldSession, turn: GoldTurn) -> dict[str, str]:
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
