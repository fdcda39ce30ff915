"""Reader of Claude Code: JSONL lines of a session file, most of them tools and notices.

A person speaks in records of several types: in lines of type user, in prompts that were typed while
the agent worked (attachments, and in older versions only the queue's operations), and inside the
results of tools: reasons of a rejection, answers to the agent's questions. The speaker decides
the role here, not the type of the record.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from memsense.ingest.branches import find_current_branch
from memsense.ingest.content import text_blocks
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reader, Reading
from memsense.ingest.values import JsonObject, identifier, mapping, objects, reach, string
from memsense.text.words import read_sections
from memsense.types import Conversation, JsonValue

_TYPES = frozenset({"user", "assistant"})
_OTHER_TYPES = frozenset(read_sections("records")["claude_code"].split())
"""Types of records without words of the conversation that are not looked into."""

_ENVELOPE = "loglines"
_FLAGS = {
    "isMeta": "meta prompt",
    "isCompactSummary": "compaction summary",
    "isApiErrorMessage": "API error notice",
}
_BLOCK_REASONS = {
    "tool_result": "tool result",
    "tool_use": "tool call",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "image": "image without text",
}
# Only pairs of tags at the start of a text: inside prose they are a person's own words.
_TAGGED = re.compile(
    r"""\s*<(command-name|command-message|command-args|command-contents
    |local-command-stdout|local-command-stderr|local-command-caveat
    |bash-input|bash-stdout|bash-stderr|system-reminder|user-prompt-submit-hook
    |task-notification|ide_opened_file|ide_selection)>(.*?)</\1>\s*""",
    re.DOTALL | re.VERBOSE,
)
_NOTICES = (
    "Caveat: The messages below",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)

# What the program puts around a person's words in the result of a tool.
_REFUSALS = ("The user doesn't want to", "Permission for this tool use was denied")
_REASON = "he user said:"  # "The" or "the"
_REASON_END = "\n\nNote: The user's next message may contain"
_CLARIFIES = "The user wants to clarify these questions"
_QUESTIONS, _UNANSWERED = "Questions asked:", "(No answer provided)"
_ANSWERED = ("User has answered your questions:", "Your questions have been answered:")
_ANSWERS_END = "You can now continue with"
_QUESTION_TOOL = "AskUserQuestion"
_PLAN_TOOLS = frozenset({"ExitPlanMode", "exit_plan_mode"})

_COPIED = 3
"""Equal rows at the head of two chains that make one a copy."""

NOT_SENT = "prompt in the queue that was not sent yet"
TAKEN_BACK = "prompt that was taken back from the queue"
SENT_LATER = "prompt in the queue, in its place below, too"


@dataclass(slots=True)
class _Line:
    """The part of a line that matters: its place in the chain, its words, or why it has none.

    `answer` is the number of the first line of the API message that it is a block of.
    """

    number: int
    uuid: str | None
    parent: str | None
    session: str
    is_sidechain: bool = False
    role: Literal["user", "assistant"] = "user"
    message_id: str | None = None
    request_id: str | None = None
    answer: int | None = None
    texts: Sequence[str] = ()
    time: JsonValue = None
    folder: str = ""
    reason: str | None = None
    is_queued: bool = False
    is_decision: bool = False


@dataclass(slots=True)
class _Queued:
    """A prompt in the queue, and the position of the line that took it out."""

    line: _Line
    taken_at: int | None = None


@dataclass(slots=True)
class _Log:
    """The lines of a file, and the state that later lines refer to.

    `calls` maps the id of a call that shows something to the person to the tool's name, `queue` has
    all prompts that were put into it, in order.
    """

    lines: list[_Line] = field(default_factory=list[_Line])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    calls: dict[str, str] = field(default_factory=dict[str, str])
    queue: list[_Queued] = field(default_factory=list[_Queued])


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Claude Code's."""
    if head.has_item(_ENVELOPE, _is_turn):
        return "loglines of a session on the web"
    if head.find(_is_message):
        return "lines of type user or assistant with sessionId or uuid and a message"
    if head.find(_is_summary):
        return "summary lines with leafUuid"
    return None


def _is_turn(record: JsonObject) -> bool:
    # Qwen Code writes the same lines, but its messages have `parts`: they are its reader's.
    message = record.get("message")
    is_turn = string(record.get("type")) in _TYPES and isinstance(message, dict)
    return is_turn and "parts" not in mapping(message)


def _is_message(record: JsonObject) -> bool:
    return _is_turn(record) and ("sessionId" in record or "uuid" in record)


def _is_summary(record: JsonObject) -> bool:
    return record.get("type") == "summary" and "leafUuid" in record


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session; with `sidechains` also for each sub-agent."""
    log = _Log()
    for record in reading.objects(envelope=_ENVELOPE):
        # The web's export holds the lines of a session in one list.
        values = [record.value]
        if _ENVELOPE in record.value:
            values = objects(record.value[_ENVELOPE])
        for value in values:
            _read_line(reading, log, value, record.line)
    _settle_queue(log)
    _merge_copies(log.lines)
    _find_answers(log.lines)
    builders: dict[str, ConversationBuilder] = {}
    for line in _join_answers(reading, _keep_current(reading, log.lines)):
        builder = builders.setdefault(line.session, reading.conversation())
        builder.add(
            line.role,
            "\n\n".join(line.texts),
            external_id=line.uuid,
            stamp=reading.stamp(line.time),
            folder=line.folder,
            line=line.number,
        )
    titles = log.titles
    title = next((titles[line.uuid] for line in log.lines if line.uuid in titles), None)
    if not builders:
        yield from reading.conversation().build(reading.source.session_id)
    for session, builder in builders.items():
        yield from builder.build(session, title=title)


def _read_line(reading: Reading, log: _Log, value: JsonObject, number: int) -> None:
    """Add a record's line to the log, with its words or the reason why it has none."""
    kind = string(value.get("type"))
    line = _Line(
        number,
        identifier(value.get("uuid")),
        identifier(value.get("parentUuid")),
        identifier(value.get("sessionId")) or reading.source.session_id,
    )
    log.lines.append(line)
    if value.get("isSidechain") is True:
        line.is_sidechain = True
        line.session = f"{line.session}/{identifier(value.get('agentId')) or 'sidechain'}"
    message = value.get("message")
    if kind == "assistant" and isinstance(message, dict):
        line.request_id = identifier(value.get("requestId"))
        _read_answer(log, line, message)
    elif kind == "user" and isinstance(message, dict):
        _read_turn(log, line, value, message)
    elif kind in _TYPES:
        line.reason = "message is not an object"
    elif kind == "attachment":
        _read_attachment(line, mapping(value.get("attachment")))
    elif kind == "queue-operation":
        _read_queue(log, line, value)
    else:
        # A summary may describe another session: it is a title at most.
        if _is_summary(value):
            log.titles[string(value.get("leafUuid"))] = string(value.get("summary"))
        line.reason = reading.name_record(kind, _OTHER_TYPES)
    # A decision of the person is theirs in a sub-agent's records, too.
    is_decision = line.is_decision and line.role == "user"
    if line.is_sidechain and not (reading.options.sidechains or is_decision):
        line.reason, line.texts = "sidechain", ()
    if line.reason is None:
        for flag, reason in _FLAGS.items():
            if value.get(flag) is True:
                line.reason = reason
                return
        line.time = value.get("timestamp")
        line.folder = string(value.get("cwd"))


def _read_answer(log: _Log, line: _Line, message: JsonObject) -> None:
    """Take the words of an answer, and the plans that it shows to the person."""
    line.role = "assistant"
    line.message_id = identifier(message.get("id"))
    if message.get("model") == "<synthetic>":
        line.reason = "API error notice"
        return
    texts: list[str] = []
    reason = None
    # Most lines are calls of tools and their results: each block is looked at once.
    for block in _blocks(message):
        kind = string(block.get("type")) if isinstance(block, dict) else ""
        if kind not in _BLOCK_REASONS:
            texts.extend(text_blocks([block]))
            continue
        reason = reason or _BLOCK_REASONS[kind]
        name = string(block.get("name")) if isinstance(block, dict) else ""
        if name == _QUESTION_TOOL or name in _PLAN_TOOLS:
            plan = string(reach(block, "input", "plan"))
            if plan.strip():
                texts.append(plan)
            elif call := identifier(mapping(block).get("id")):
                # Newer versions keep the plan in a file, and the result of the call has its text.
                log.calls[call] = name
    line.texts = texts
    if not texts:
        line.reason = reason or _explain_silence(message)


def _read_turn(log: _Log, line: _Line, value: JsonObject, message: JsonObject) -> None:
    """Take a person's words of a line of type user: a prompt, or decisions inside of results."""
    texts: list[str] = []
    reason = None
    for block in _blocks(message):
        kind = string(block.get("type")) if isinstance(block, dict) else ""
        if kind == "tool_result":
            result = mapping(block)
            tool = log.calls.get(string(result.get("tool_use_id")), "")
            plan = string(reach(value, "toolUseResult", "plan")) if tool in _PLAN_TOOLS else ""
            if plan.strip():
                line.role, texts = "assistant", [plan]
            elif words := _find_decision(result.get("content"), value.get("toolUseResult"), tool):
                texts.append(words)
                line.is_decision = True
        elif kind not in _BLOCK_REASONS:
            for text in text_blocks([block]):
                reason = "command or notice of the program"
                if words := _peel_tags(text):
                    texts.append(words)
        reason = reason or _BLOCK_REASONS.get(kind)
    line.texts = texts
    if not texts:
        line.reason = reason or _explain_silence(message)


def _blocks(message: JsonObject) -> Sequence[JsonValue]:
    content = message.get("content")
    return content if isinstance(content, list) else (content,)


def _explain_silence(message: JsonObject) -> str:
    return EMPTY if "content" in message else "message without content"


def _find_decision(content: JsonValue, result: JsonValue, tool: str) -> str:
    """Return a person's words in the result of a tool: their reasons and answers, else nothing."""
    text = content if isinstance(content, str) else next(text_blocks(content), "")
    if text.startswith(_REFUSALS):
        _, marker, words = text.partition(_REASON)
        words = words.partition(_REASON_END)[0].strip()
        if not words.startswith(_CLARIFIES):
            return words if marker else ""
        # Of the questions that a person wants to talk about, those that were answered count.
        answers: list[str] = []
        question = ""
        for row in words.partition(_QUESTIONS)[2].split("\n"):
            name, is_answer, answer = row.strip().partition("Answer: ")
            if row.lstrip().startswith("- "):
                question = row.strip()[2:].strip('"')
            elif is_answer and not name:
                answers.append(f"{question} {answer}".strip())
        return "\n".join(answers)
    if tool != _QUESTION_TOOL:
        return ""
    answers_by_question, notes = (
        mapping(reach(result, "answers")),
        mapping(reach(result, "annotations")),
    )
    if answers_by_question:
        lines = [
            f"{question} {_join_choices(answer)} {string(reach(notes, question, 'notes'))}".strip()
            for question, answer in answers_by_question.items()
        ]
        return "\n".join(lines)
    for opening in _ANSWERED:
        if text.startswith(opening):
            return text.removeprefix(opening).partition(_ANSWERS_END)[0].strip()
    return ""


def _join_choices(answer: JsonValue) -> str:
    if isinstance(answer, list):
        return ", ".join(filter(None, map(string, answer)))
    return string(answer)


def _read_attachment(line: _Line, attachment: JsonObject) -> None:
    """Take a prompt that was typed while the agent worked."""
    kind = string(attachment.get("type"))
    origin = reach(attachment, "origin", "kind")
    is_prompt = attachment.get("commandMode", "prompt") == "prompt" and origin in (None, "human")
    line.reason = f"attachment of the program ({kind[:40]})"
    if kind == "queued_command" and is_prompt and attachment.get("isMeta") is not True:
        texts = text_blocks(attachment.get("prompt"))
        line.texts = [words for text in texts if (words := _peel_tags(text))]
        line.reason = None if line.texts else "command or notice of the program"


def _read_queue(log: _Log, line: _Line, value: JsonObject) -> None:
    """Follow the queue of prompts that wait for the agent.

    Older versions log a prompt that is sent in the midst of a turn nowhere else.
    """
    operation, content = value.get("operation"), string(value.get("content"))
    line.reason = "operation of the queue"
    if operation == "enqueue" and (words := _peel_tags(content)):
        line.is_queued, line.texts, line.reason = True, [words], NOT_SENT
        line.uuid = f"queued:{value.get('timestamp') or line.number}"
        line.time, line.folder = value.get("timestamp"), string(value.get("cwd"))
        log.queue.append(_Queued(line))
        return
    waiting = [prompt for prompt in log.queue if prompt.taken_at is None]
    if operation == "popAll":
        for prompt in waiting:
            prompt.taken_at, prompt.line.reason = len(log.lines), TAKEN_BACK
    elif operation in ("dequeue", "remove"):
        same = [prompt for prompt in waiting if prompt.line.texts == [_peel_tags(content)]]
        for prompt in (same or ([] if content else waiting))[:1]:
            prompt.taken_at = len(log.lines)


def _settle_queue(log: _Log) -> None:
    """Keep the prompts of the queue that were sent and stand nowhere below as turns."""
    if not log.queue:
        return
    turns: dict[str, Counter[str]] = {}
    prompts = {id(prompt.line): prompt for prompt in log.queue}
    last = 0
    # From the end, because a prompt's own turn comes after it.
    for position, line in reversed(list(enumerate(log.lines))):
        prompt = prompts.get(id(line))
        if prompt is None:
            if line.reason is None:
                last = last or position
                if line.role == "user":
                    words = " ".join(" ".join(line.texts).split())
                    turns.setdefault(line.session, Counter())[words] += 1
            continue
        words = " ".join(line.texts[0].split())
        if turns.get(line.session, Counter())[words]:
            turns[line.session][words] -= 1
            line.reason = SENT_LATER
        elif line.reason == NOT_SENT and prompt.taken_at is not None and prompt.taken_at <= last:
            # Until something follows, its own turn may be the next line that the program writes.
            line.reason = None


def _peel_tags(text: str) -> str:
    """Return the person's words: without the program's leading tags, with a command's arguments."""
    # Matched in place: cutting off one tag after the other would copy the text for each.
    start, arguments = 0, ""
    while match := _TAGGED.match(text, start):
        if match[1] == "command-args":
            arguments = match[2].strip()
        start = match.end()
    rest = text[start:]
    if rest.lstrip().startswith(_NOTICES):
        return ""
    return "\n".join(part for part in (arguments, rest) if part.strip())


def _keep_current(reading: Reading, lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines with words that are on the current branch and new in this run."""
    current = set(range(len(lines)))
    if not reading.options.all_branches:
        # Sidechains and the queue are no part of the chain: all of them stay.
        chain = [i for i, one in enumerate(lines) if not (one.is_sidechain or one.is_queued)]
        ids, parents = [lines[i].uuid for i in chain], [lines[i].parent for i in chain]
        current -= {chain[i] for i in set(range(len(chain))) - find_current_branch(ids, parents)}
        # One answer is several lines, and the chain may touch only one: they stay together.
        if len(current) < len(lines):
            answers = {lines[i].answer for i in current} - {None}
            current |= {i for i, line in enumerate(lines) if line.answer in answers}
    label = reading.source.label
    new_lines: list[_Line] = []
    for position, line in enumerate(lines):
        reason = line.reason
        if reason is not None:
            reading.skip(reason, line.number)
            continue
        if position not in current:
            reason = "abandoned branch"
        elif line.uuid is not None:
            # A session that is resumed or forked goes on in a new file, which repeats the old lines
            # under the new session's id (claude-code#89624): the first file has them.
            first = reading.report.seen_ids.setdefault(f"{reading.format}:{line.uuid}", label)
            reason = None if first == label else "repeated in a resumed session"
        if reason:
            reading.skip(reason, line.number)
        else:
            new_lines.append(line)
    return new_lines


def _merge_copies(lines: Sequence[_Line]) -> None:
    """Leave out the head of a chain that repeats that of another one under new ids.

    An agent that writes its history again gives it new ids, and a fork goes on from the copy: both
    then follow the first head. Role, words and time must be equal in the first three rows at least.
    """
    chains: dict[str, list[_Line]] = {}
    roots: dict[str, str] = {}
    for line in lines:
        if line.uuid is None or line.is_sidechain or line.is_queued:
            continue
        roots[line.uuid] = roots.get(line.parent or "", line.uuid)
        if line.reason is None and line.time:
            chains.setdefault(roots[line.uuid], []).append(line)
    heads: dict[tuple[object, ...], list[_Line]] = {}
    originals: dict[str | None, str | None] = {}
    for chain in chains.values():
        signs = [(line.session, line.role, *line.texts, line.time) for line in chain]
        head = heads.setdefault(tuple(signs[:_COPIED]), chain)
        if head is chain or len(chain) < _COPIED:
            continue
        for line, sign, first in zip(chain, signs, head, strict=False):
            if sign != (first.session, first.role, *first.texts, first.time):
                break
            line.reason = "copy of a row under another id"
            originals[line.uuid] = first.uuid
    for line in lines:
        line.parent = originals.get(line.parent, line.parent)


def _find_answers(lines: Sequence[_Line]) -> None:
    """Number the answers: the blocks of one API message are lines of their own.

    Some gateways give all messages one id. So an answer also ends with the next prompt of a person,
    with another request, and where a block hangs on another answer or on a result of its tools.
    """
    by_uuid = {line.uuid: line for line in lines if line.uuid is not None}
    open_answers: dict[str, dict[str, _Line]] = {}
    for line in lines:
        if line.role == "user" and line.reason is None:
            open_answers.pop(line.session, None)
        if line.role == "user" or line.message_id is None:
            continue
        first = open_answers.setdefault(line.session, {}).setdefault(line.message_id, line)
        parent = by_uuid.get(line.parent or "")
        if parent is not None and parent.role == "user":  # a result of a tool, maybe
            parent = by_uuid.get(parent.parent or "")
        hangs_on = parent.answer if parent is not None else None
        requests = {line.request_id, first.request_id} - {None}
        if len(requests) > 1 or hangs_on not in {None, first.number}:
            open_answers[line.session][line.message_id] = first = line
        line.answer = first.number


def _join_answers(reading: Reading, lines: Sequence[_Line]) -> list[_Line]:
    """Return one line for each answer."""
    whole: list[_Line] = []
    answers: dict[int, _Line] = {}
    for line in lines:
        if line.answer is None:
            whole.append(line)
            continue
        first = answers.setdefault(line.answer, line)
        if first is line or first.uuid == line.uuid:
            whole.append(line)
            continue
        # Snapshots of an answer that was being streamed repeat its blocks, the last one longer.
        texts = list(first.texts)
        for text in line.texts:
            if text in texts:
                continue
            if text.startswith(texts[-1]):
                texts[-1] = text
            else:
                texts.append(text)
        first.texts = texts
        reading.report.joined += 1
    return whole


READER = Reader(name="claude_code", sniff=sniff, read=read)
