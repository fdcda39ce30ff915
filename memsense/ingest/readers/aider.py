"""Reader of Aider's chat history: Markdown of many sessions, with prompts behind `####`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memsense.ingest.head import Head
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
from memsense.types import Conversation, Role

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_HISTORY = ".aider.chat.history.md"
_PROMPT = "####"
_NOTICE = ">"
# Commands that send a person's words to the model; the others send nothing.
_SPOKEN_COMMANDS = frozenset("/ask /code /architect /context /help /chat-mode".split())
_COMMAND = re.compile(r"/[a-z][a-z-]*")
_CONFIRMATION = re.compile(r".{0,300}\((?i:y\)es).{0,60}\[[^\]\n]{1,10}\]:?\s?\w{0,12}")
# The program marks where a model's reasoning begins and where its answer does.
_REASONING, _ANSWER = "► **THINKING**", "► **ANSWER**"
_RULE = re.compile(r"-{3,}")


@dataclass(slots=True)
class _Turn:
    """The lines of one side so far, and the line where they began."""

    role: Role = "assistant"
    line: int = 1
    texts: list[str] = field(default_factory=list[str])


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Aider's."""
    is_aider = any(_START.fullmatch(line) for line in head.lines)
    return "lines that say when an aider chat started" if is_aider else None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each start of the program."""
    builder, started, turn = reading.conversation(), "", _Turn()
    for number, raw in enumerate(reading.lines(), 1):
        line = raw.rstrip("\r\n")
        if match := _START.fullmatch(line):
            yield from _finish(builder, turn, started)
            builder, started, turn = reading.conversation(), match[1], _Turn(line=number)
        elif line.startswith(_NOTICE):
            # The program's own words: start-up, edits, commits, costs.
            reading.skip("notice of the program", number)
        else:
            # The words of a prompt stand behind #### in each line; blank lines are of either side.
            is_prompt = line.startswith(_PROMPT)
            if line.strip() and is_prompt != (turn.role == "user"):
                _add_turn(builder, turn)
                turn = _Turn("user" if is_prompt else "assistant", number)
            words = line.removeprefix(_PROMPT).removeprefix(" ") if is_prompt else line
            turn.texts.append(words)
    yield from _finish(builder, turn, started)


def _add_turn(builder: ConversationBuilder, turn: _Turn) -> None:
    text = "\n".join(turn.texts).strip()
    if not text:
        return
    builder.reading.report.records += 1
    if turn.role == "user":
        lines = text.split("\n")
        words = [_strip_command(line) for line in lines]
        for line, rest in zip(lines, words, strict=True):
            if line.strip() and not rest:
                is_command = _COMMAND.match(line)
                reason = "command of the program" if is_command else "confirmation of the program"
                builder.reading.skip(reason, turn.line)
        if not any(words):
            return
        text = "\n".join(one for line, one in zip(lines, words, strict=True) if one or not line)
        text = text.strip()
    else:
        text = _strip_reasoning(builder, turn)
    builder.add(turn.role, text, line=turn.line)


def _strip_command(line: str) -> str:
    """Return a person's words of a line of a prompt: without a command, none of a confirmation."""
    command = _COMMAND.match(line)
    if command and line[command.end() : command.end() + 1] in ("", " "):
        return line[command.end() :].strip() if command[0] in _SPOKEN_COMMANDS else ""
    return "" if _CONFIRMATION.fullmatch(line) else line


def _strip_reasoning(builder: ConversationBuilder, turn: _Turn) -> str:
    answer: list[str] = []
    is_reasoning = False
    for line in turn.texts:
        if line.strip() in (_REASONING, _ANSWER):
            is_reasoning = line.strip() == _REASONING
            if is_reasoning:
                builder.reading.skip("thinking", turn.line)
            # A rule precedes each mark.
            while answer and (not answer[-1].strip() or _RULE.fullmatch(answer[-1].strip())):
                answer.pop()
        elif not is_reasoning:
            answer.append(line)
    return "\n".join(answer).strip()


def _finish(builder: ConversationBuilder, turn: _Turn, started: str) -> Iterator[Conversation]:
    _add_turn(builder, turn)
    # A start without a prompt is no conversation, and need not be counted as an empty one.
    if builder.messages:
        file_id = builder.reading.source.session_id
        session = f"{file_id}/{started.replace(' ', 'T')}" if started else file_id
        # The history lies in the folder that it is about.
        path = builder.reading.source.path
        is_own = path is not None and path.name == _HISTORY
        yield from builder.build(
            session,
            started_at=builder.reading.stamp(started).at,
            folder=str(path.absolute().parent) if path is not None and is_own else None,
        )


READER = Reader(name="aider", sniff=sniff, read=read)
