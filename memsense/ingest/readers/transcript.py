"""Plain transcripts: `Name: text`, markdown headings and bold labels, VTT cues, `>` prompts."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.types import Conversation, Role

_LABELS: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "me", "you", "q", "prompt"), "user"),
    **dict.fromkeys(("a", "answer", "response"), "assistant"),
}
_NAME = r"[^\W\d_][^\n:<>{}\[\]()\"“”/\\=|*#]{0,39}?"
_REST = r"(?P<text>(?s:.*))"
_FORMS = (
    re.compile(
        rf"\s*(?P<bold>\*\*|__)(?P<name>{_NAME})"
        rf"(?:(?P=bold)\s*:|:\s*(?P=bold))\s*{_REST}"
    ),
    re.compile(rf"(?P<heading>\#{{1,6}})\s+(?P<name>{_NAME}):?\s*"),
    re.compile(rf"(?P<heading>\#{{1,6}})\s+(?P<name>{_NAME}):\s+{_REST}"),
    re.compile(rf"<v(?:\.\w+)*\s+(?P<name>{_NAME})>(?P<text>(?s:.*?))(?:</v>)?"),
    re.compile(
        rf"(?P<time>[\[(][^\[\]()\n]{{3,40}}[\])])?\s*(?P<name>{_NAME})"
        rf"(?:\s*\((?P<inner>[^()\n]{{3,30}})\))?:(?:\s+{_REST})?"
    ),
)
_DATED = re.compile(r"\d{4}-\d\d-\d\d|\d{4}/\d")
_CUE = re.compile(r"(\d+|WEBVTT.*|[\d:.,]+\s*-->\s*[\d:.,].*)")
_ARROW = "-->"
_QUOTE = ">"
_TWICE = 2
_ENOUGH_QUOTES = 3
_SHARE_OF_HEADS = 0.6
_TITLE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class _Turn:
    name: str
    time: str | None
    text: str
    is_heading: bool = False


def _sniff(head: Head) -> str | None:
    if head.is_json:
        return None
    lines = head.text.split("\n")
    speakers = _find_speakers(lines)
    if speakers:
        return f"turns headed by {', '.join(sorted(speakers)[:5])}"
    if _is_quoted(lines):
        return "prompts marked with >"
    return None


def _parse_turn(line: str) -> _Turn | None:
    """The head at the start of a line, whoever it names, None where it has none."""
    for form in _FORMS:
        if match := form.fullmatch(line.rstrip("\r\n")):
            groups = match.groupdict()
            time = groups.get("time") or groups.get("inner")
            text = groups.get("text") or ""
            return _Turn(match["name"].strip(), time, text, bool(groups.get("heading")))
    return None


def _role(name: str) -> Role | None:
    return _LABELS.get(name.lower()) or role_of(name)


def _find_speakers(lines: Sequence[str]) -> set[str]:
    """The names that head turns: labels of both sides, or a few names that recur."""
    turns = [turn for line in lines if (turn := _parse_turn(line))]
    labels = {turn.name for turn in turns if _role(turn.name)}
    if {"user", "assistant"} <= {_role(name) for name in labels}:
        return labels
    heads = Counter(turn.name for turn in turns if not turn.is_heading)
    recurring = {name for name, count in heads.items() if count >= _TWICE}
    share = sum(heads[name] for name in recurring) / max(1, heads.total())
    enough = len(recurring) >= _TWICE and share >= _SHARE_OF_HEADS
    return recurring if enough else set()


def _is_quoted(lines: Sequence[str]) -> bool:
    return sum(line.startswith(_QUOTE) for line in lines) >= _ENOUGH_QUOTES


def _read(reading: Reading) -> Iterator[Conversation]:
    lines = [line.rstrip("\r\n") for line in reading.lines()]
    if any(_ARROW in line for line in lines):
        lines = ["" if _CUE.fullmatch(line.strip()) else line for line in lines]
    speakers = _find_speakers(lines)
    if speakers:
        turns = _collect(lines, speakers)
    else:
        turns = _collect_quoted(lines) if _is_quoted(lines) else iter(())
    builder = reading.conversation()
    title = None
    for turn, line in turns:
        if not turn.name:
            title = turn.text.strip().partition("\n")[0][:_TITLE_LENGTH] or None
            continue
        reading.report.records += 1
        _add_turn(builder, turn, line)
    yield from builder.build(reading.source.stem, title=title)


def _collect(lines: Sequence[str], speakers: set[str]) -> Iterator[tuple[_Turn, int]]:
    """Each turn with its continuation lines and line; first what stands before all turns."""
    head, texts, start = _Turn("", None, ""), [""], 1
    for number, line in enumerate(lines, 1):
        turn = _parse_turn(line)
        if turn is None or turn.name not in speakers:
            texts.append(line)
            continue
        yield _Turn(head.name, head.time, "\n".join(texts).strip()), start
        head, texts, start = turn, [turn.text], number
    yield _Turn(head.name, head.time, "\n".join(texts).strip()), start


def _collect_quoted(lines: Sequence[str]) -> Iterator[tuple[_Turn, int]]:
    """Quoted lines are prompts, the lines after them the answers."""
    name, texts, start = "", [""], 1
    for number, line in enumerate(lines, 1):
        speaker = "user" if line.startswith(_QUOTE) else "assistant"
        if speaker != name and (speaker == "user" or name == "user"):
            yield _Turn(name, None, "\n".join(texts).strip()), start
            name, texts, start = speaker, [], number
        texts.append(line.removeprefix(_QUOTE).removeprefix(" ") if speaker == "user" else line)
    yield _Turn(name, None, "\n".join(texts).strip()), start


def _add_turn(builder: ConversationBuilder, turn: _Turn, line: int) -> None:
    role = _role(turn.name)
    if role in ("system", "tool"):
        builder.reading.skip(f"{role} message", line)
        return
    time = turn.time.strip("[]()") if turn.time and _DATED.search(turn.time) else None
    builder.add(
        role or "other",
        turn.text,
        speaker=None if role else turn.name,
        stamp=builder.reading.stamp(time),
        line=line,
    )


READER = Reader(name="transcript", sniff=_sniff, read=_read)
