"""Reader of Claude Code: JSONL lines of a session file, most of them tools and notices."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from memsense.ingest.branches import find_current_branch
from memsense.ingest.content import text_blocks
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.types import Conversation

_TYPES = frozenset({"user", "assistant"})
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


@dataclass(slots=True)
class _Line:
    """The part of a line that matters: its place in the chain, its words, or why it has none."""

    number: int
    uuid: str | None
    parent: str | None
    session: str
    is_sidechain: bool = False
    role: Literal["user", "assistant"] = "user"
    message_id: str | None = None
    texts: list[str] = field(default_factory=list[str])
    stamp: Stamp = NO_TIME
    folder: str = ""
    reason: str | None = None


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Claude Code's."""
    if head.has_item(_ENVELOPE, _is_message):
        return "loglines of a session on the web"
    if head.find(_is_message):
        return "lines of type user or assistant with sessionId or uuid and a message"
    if head.find(_is_summary):
        return "summary lines with leafUuid"
    return None


def _is_message(record: JsonObject) -> bool:
    is_turn = string(record.get("type")) in _TYPES
    has_id = "sessionId" in record or "uuid" in record
    # Qwen Code writes the same lines, but its messages have `parts`: they are its reader's.
    is_qwen = "parts" in mapping(record.get("message"))
    return is_turn and has_id and isinstance(record.get("message"), dict) and not is_qwen


def _is_summary(record: JsonObject) -> bool:
    return record.get("type") == "summary" and "leafUuid" in record


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session; with `sidechains` also for each sub-agent."""
    titles: dict[str, str] = {}
    lines: list[_Line] = []
    for record in reading.objects(envelope=_ENVELOPE):
        # The web's export holds the lines of a session in one list.
        values = [record.value]
        if _ENVELOPE in record.value:
            values = objects(record.value[_ENVELOPE])
        for value in values:
            # A summary may describe another session: it is a title at most.
            if _is_summary(value):
                titles[string(value.get("leafUuid"))] = string(value.get("summary"))
            lines.append(_read_line(reading, value, record.line))
    builders: dict[str, ConversationBuilder] = {}
    for line in _join_answers(reading, _keep_current(reading, lines)):
        builder = builders.setdefault(line.session, reading.conversation())
        builder.add(
            line.role,
            "\n\n".join(line.texts),
            external_id=line.uuid,
            stamp=line.stamp,
            folder=line.folder,
            line=line.number,
        )
    title = next((titles[line.uuid] for line in lines if line.uuid in titles), None)
    if not builders:
        yield from reading.conversation().build(reading.source.session_id)
    for session, builder in builders.items():
        yield from builder.build(session, title=title)


def _read_line(reading: Reading, value: JsonObject, number: int) -> _Line:
    message = mapping(value.get("message"))
    is_sidechain = value.get("isSidechain") is True
    line = _Line(
        number=number,
        uuid=identifier(value.get("uuid")),
        parent=identifier(value.get("parentUuid")),
        session=identifier(value.get("sessionId")) or reading.source.session_id,
        is_sidechain=is_sidechain,
    )
    if is_sidechain:
        line.session = f"{line.session}/{identifier(value.get('agentId')) or 'sidechain'}"
    # First the kind of the line, by which no words of it are anybody's ...
    flags = (reason for flag, reason in _FLAGS.items() if value.get(flag) is True)
    if string(value.get("type")) not in _TYPES:
        line.reason = "not a message"
    elif not isinstance(value.get("message"), dict):
        line.reason = "message is not an object"
    elif is_sidechain and not reading.options.sidechains:
        line.reason = "sidechain"
    else:
        line.reason = next(flags, None)
    if line.reason is not None:
        return line
    # ... then the words. Most lines have none: they are tool calls and results.
    line.stamp = reading.stamp(value.get("timestamp"))
    line.folder = string(value.get("cwd"))
    line.role = "assistant" if value.get("type") == "assistant" else "user"
    line.message_id = identifier(message.get("id"))
    blocks = list(text_blocks(message.get("content")))
    if message.get("model") == "<synthetic>":
        line.reason = "API error notice"
    elif not blocks and "content" not in message:
        line.reason = "message without content"
    elif not blocks:
        kinds = (string(block.get("type")) for block in objects(message["content"]))
        line.reason = next((_BLOCK_REASONS[k] for k in kinds if k in _BLOCK_REASONS), EMPTY)
    elif line.role == "user":
        line.texts = [words for block in blocks if (words := _peel_tags(block))]
        line.reason = None if line.texts else "command or notice of the program"
    else:
        line.texts = blocks
    return line


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
        # Sidechains are no part of the chain: all of them stay.
        chain = [i for i, line in enumerate(lines) if not line.is_sidechain]
        ids, parents = [lines[i].uuid for i in chain], [lines[i].parent for i in chain]
        current -= {chain[i] for i in set(range(len(chain))) - find_current_branch(ids, parents)}
        # One answer is several lines, and the chain may touch only one: they stay together.
        answers = {lines[i].message_id for i in current} - {None}
        current |= {i for i, line in enumerate(lines) if line.message_id in answers}
    label = reading.source.label
    new_lines: list[_Line] = []
    for position, line in enumerate(lines):
        reason = line.reason
        if reason is None and position not in current:
            reason = "abandoned branch"
        if reason is None and line.uuid is not None:
            # A session that is resumed or forked goes on in a new file, which repeats the old lines
            # under the new session's id (claude-code#89624): the first file has them.
            first = reading.report.seen_ids.setdefault(f"{reading.format}:{line.uuid}", label)
            reason = None if first == label else "repeated in a resumed session"
        if reason:
            reading.skip(reason, line.number)
        else:
            new_lines.append(line)
    return new_lines


def _join_answers(reading: Reading, lines: Sequence[_Line]) -> list[_Line]:
    """Return one line for each answer: the blocks of one API message are lines of their own."""
    whole: list[_Line] = []
    answers: dict[tuple[str, str], _Line] = {}
    for line in lines:
        if line.role != "assistant" or line.message_id is None:
            whole.append(line)
            continue
        first = answers.setdefault((line.session, line.message_id), line)
        if first is line or first.uuid == line.uuid:
            whole.append(line)
            continue
        # Snapshots of an answer that was being streamed repeat its blocks, the last one longer.
        for text in line.texts:
            if text in first.texts:
                continue
            if text.startswith(first.texts[-1]):
                first.texts[-1] = text
            else:
                first.texts.append(text)
        reading.report.joined += 1
    return whole


READER = Reader(name="claude_code", sniff=sniff, read=read)
