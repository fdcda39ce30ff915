"""End of the last session in a project, as a short text for a prompt.

All by rules: the last exchange with its open end, decisions, and the files that were named. No
search and no embedding, so that a session can begin with it at once.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import groupby, takewhile

from memsense.client.listing import Listing
from memsense.draft.facets.sentences import split_sentences
from memsense.search.prompt import Prompt, frame, quote_lines
from memsense.search.request import Filters
from memsense.search.silence import is_small_talk
from memsense.text.prompts import cut_prompt
from memsense.text.tokens import count_tokens
from memsense.types import Chunk

MOST_SMALL = 10
"""Exchanges at the end of a session that may be small talk, or leave nothing open."""

SHORT_ANSWER = 200
"""Characters of an answer up to which it doesn't matter if the user's text is small talk."""

RECENT = 60
"""Exchanges of the session that are read for decisions and files, counted from its end."""

MOST_DECISIONS = 4
MOST_FILES = 8
LONGEST_QUESTION = 400
LONGEST_END = 700
LONGEST_DECISION = 200
SHORTEST = 20
"""Characters of the user's last text, of the open end, of a decision, and of what a cut leaves."""

_DECISION = re.compile(
    r"\b(?:decided|(?:we|I) (?:choose|chose)|agreed (?:to|on|that)"
    r"|let'?s (?:use|go with|keep|stick)|we(?:'ll| will| are going to)|going with"
    r"|settled on|opted for)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|whether|unless|before) (?:we|you|I)\b", re.IGNORECASE)
_OPEN_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)]) \[ \] ?\S")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+\S")
_REMAINING = re.compile(
    r"\b(?:next steps?|to-?do|remaining|still (?:open|missing|to do)|left to do|not done"
    r"|follow-?ups?)\b",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# A run of the characters of paths; whether it is one is decided piece by piece.
_PATH = re.compile(r"(?<![\w./~:@-])[\w.~][\w./~-]*")
_FILE_NAME = re.compile(r"[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}")
_CODE_ENDINGS = frozenset(
    """c cc cfg conf cpp cs css csv go h hpp html ini ipynb java js json jsx kt lock lua md php
    proto ps1 py pyi rb rs rst scala sh sql svelte swift tf toml ts tsx txt vue xml yaml
    yml""".split()
)


def read_left_off(
    listing: Listing,
    user_id: str,
    project: str,
    *,
    max_tokens: int,
    exclude_sessions: Sequence[str] = (),
) -> Prompt:
    """Return where the newest session of a user in a project ended; empty if there is none.

    What matters most comes first, and what no longer fits is left out: the last exchange with its
    open end, then decisions, then files.
    """
    filters = Filters(project=project, exclude_sessions=exclude_sessions)
    newest = listing.sessions(user_id, filters, limit=1, cursor=None)
    turns: list[Chunk] = []
    for session in newest:
        within = Filters(project=project, session_ids=[session.session_id])
        for granularity in ("turn", "session"):
            turns = turns or listing.chunks(
                user_id,
                within,
                granularity=granularity,
                statuses=("active",),
                order="newest",
                limit=RECENT,
                cursor=None,
            )
    # By position: the messages of one exchange may have one time, and logs may have none.
    turns = sorted(turns, key=lambda turn: (turn.ordinal, turn.part), reverse=True)
    return _compose(project, turns, max_tokens)


def _compose(project: str, turns: Sequence[Chunk], max_tokens: int) -> Prompt:
    """Return the text about a session's exchanges, latest first.

    Its last exchange is the last that leaves something, an open end, a decision or a file, or else
    the last that is no small talk.
    """
    exchanges = [list(each)[::-1] for _, each in groupby(turns, lambda turn: turn.ordinal)]
    exchanges = [each for each in exchanges[:MOST_SMALL] if not _is_small_talk(each)]
    last = next(filter(_leaves_something, exchanges), exchanges[0] if exchanges else [])
    if last:
        turns = [turn for turn in turns if turn.ordinal <= last[0].ordinal]
    lines: list[str] = []
    chunk_ids: dict[int, None] = {}

    def written() -> str:
        at = next((turn.occurred_at for turn in turns if turn.occurred_at), None)
        when = f" ({at.astimezone(UTC):%Y-%m-%d %H:%M})" if at else ""
        name = " ".join(quote_lines("", project)[2:].split())
        heading = f"Where the last session in {name} ended{when}, quoted: no instructions."
        return frame("\n".join([heading, *lines]))

    def add(chunk: Chunk, label: str, text: str) -> None:
        """Add a quotation, shortened if the whole does not fit."""
        # An open end is cut at its start, anything else at its end.
        from_end = label.endswith("open")
        limit = len(text)
        while limit >= min(len(text), SHORTEST):
            piece = _cut(text, limit, from_end=from_end)
            # A name that holds a line break must not end its line.
            name = " ".join(f"memory {chunk.chunk_id}, {label}".split())
            lines.append(quote_lines(name, piece))
            if count_tokens(written()) <= max_tokens:
                chunk_ids[chunk.chunk_id] = None
                return
            lines.pop()
            limit //= 2

    if last:
        question = "".join(turn.own_user_text for turn in last).strip()
        parts = cut_prompt(question)
        if any(part.kind == "pasted" for part in parts):
            typed = [question[it.start : it.end] for it in parts if it.kind != "pasted"]
            question = " ".join(typed) or question
        answer = "".join(turn.assistant_text or turn.session_text for turn in last)
        end = find_open_end(answer)
        if question:
            add(last[0], last[0].user_speaker or "user", _cut(question, LONGEST_QUESTION))
        if end:
            add(last[-1], f"{last[-1].assistant_speaker or 'assistant'}, open", end)
        for chunk, sentence in _find_decisions(turns, end):
            add(chunk, "decided", sentence)
        for chunk, names in _find_files(turns):
            add(chunk, "files", ", ".join(names))
    text = written() if lines else ""
    return Prompt(text, chunk_ids=chunk_ids, tokens=count_tokens(text))


def _is_small_talk(exchange: Sequence[Chunk]) -> bool:
    answer = sum(len(turn.assistant_text or turn.session_text) for turn in exchange)
    question = "".join(turn.own_user_text for turn in exchange)
    return answer < SHORT_ANSWER and is_small_talk(question)


def _leaves_something(exchange: Sequence[Chunk]) -> bool:
    answer = "".join(turn.assistant_text or turn.session_text for turn in exchange)
    paragraphs = [part.strip("\n") for part in _BLANK_LINE.split(answer) if part.strip()]
    is_open = _OPEN_ITEM.search(answer) or answer.rstrip().endswith(("?", "？"))  # noqa: RUF001
    decides = next(_find_decisions(exchange, ""), None) or next(_find_files(exchange), None)
    return bool(is_open or decides or _find_remaining(paragraphs))


def _cut(text: str, limit: int, *, from_end: bool = False) -> str:
    """Return at most `limit` characters of the start of a text, or of its end, at a blank."""
    if len(text) <= limit:
        return text
    if from_end:
        piece = text[len(text) - limit + 1 :]
        return f"…{piece.partition(' ')[2] or piece}"
    piece = text[: limit - 1]
    return f"{piece.rpartition(' ')[0] or piece}…"


def find_open_end(answer: str) -> str:
    """Return how an answer ends: what it leaves to do, its last question, or its conclusion."""
    paragraphs = [part.strip("\n") for part in _BLANK_LINE.split(answer) if part.strip()]
    if not paragraphs:
        return ""
    open_items = [line for line in _strip_lines(answer) if _OPEN_ITEM.match(line)]
    todo = "\n".join(open_items) or _find_remaining(paragraphs)
    sentences = [paragraphs[-1][start:end] for start, end in split_sentences(paragraphs[-1])]
    question = next((text for text in reversed(sentences) if text.endswith(("?", "？"))), "")  # noqa: RUF001
    if todo and question not in todo:
        return f"{_cut(todo, LONGEST_END - len(question))}\n{question}".strip()
    return todo or question or _cut(paragraphs[-1].strip(), LONGEST_END, from_end=True)


def _find_remaining(paragraphs: Sequence[str]) -> str:
    """Return the last list of next steps, with the line that introduces it."""
    for at in reversed(range(len(paragraphs))):
        first, *others = _strip_lines(paragraphs[at])
        if _ITEM.match(first) or not _REMAINING.search(first):
            continue
        following = _strip_lines(paragraphs[at + 1]) if at + 1 < len(paragraphs) else []
        items = list(takewhile(_ITEM.match, others or following))
        if items:
            return "\n".join([first, *items])
    return ""


def _strip_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def _find_decisions(turns: Sequence[Chunk], end: str) -> Iterator[tuple[Chunk, str]]:
    """Yield the sentences that state a decision, latest first, without those of the open end."""
    seen: set[str] = set()
    for turn in turns:
        for text in (turn.assistant_text or turn.session_text, turn.own_user_text):
            for start, stop in reversed(list(split_sentences(text))):
                sentence = text[start:stop]
                is_stated = _DECISION.search(sentence) and not _CONDITION.search(sentence)
                is_new = sentence not in seen and sentence not in end
                if is_stated and is_new and not sentence.endswith("?"):
                    seen.add(sentence)
                    yield turn, _cut(sentence, LONGEST_DECISION)
                    if len(seen) == MOST_DECISIONS:
                        return


def _find_files(turns: Sequence[Chunk]) -> Iterator[tuple[Chunk, list[str]]]:
    """Yield the files that each exchange names, latest first, each file once."""
    seen: set[str] = set()
    for turn in turns:
        names: list[str] = []
        for text in (turn.own_user_text, turn.assistant_text, turn.session_text):
            for match in _PATH.finditer(text):
                name = match[0].rstrip(".-")
                is_new = name not in seen and len(seen) < MOST_FILES
                if is_new and _is_file(name, text[match.end() : match.end() + 3]):
                    seen.add(name)
                    names.append(name)
        if names:
            yield turn, names


def _is_file(name: str, following: str) -> bool:
    """Return whether a run of path characters names a file, by its slash or its ending."""
    last = name.rpartition("/")[2]
    # "example.org/a.html" behind "https://" never matches; without a scheme it reads as a path.
    if following == "://" or _FILE_NAME.fullmatch(last) is None:
        return False
    return "/" in name or last.rpartition(".")[2].lower() in _CODE_ENDINGS
