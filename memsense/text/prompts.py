"""Parts of a prompt: what its writer asks, orders and tells, and text that was pasted into it.

People paste logs, code and tables next to a question. The words of a paste would decide a search
for the whole, so that it is cut off before the search. Lines decide, then paragraphs; nothing
is parsed.
"""
# ruff: noqa: PLR2004 (the rules are shares and counts, each at its place)

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple

from memsense.text.scripts import HAN_AND_KANA

PartKind = Literal["question", "task", "told", "pasted"]

READ_AT_EACH_END: Final = 16_000
"""Characters at each end of a long prompt that are read: who asks does so there."""

MOST_KEPT: Final = 10
"""Maximum number of questions that are kept of what lies between these ends."""

LONGEST_SEARCHED: Final = 500
"""Characters of said text that are searched for as they are: a sentence that asks within 800
characters of prose is outvoted by them."""

MOST_ASKING: Final = 4
"""Maximum number of sentences of a long said text that are searched for: the last ones."""

LONGEST_ASKING: Final = 500
"""Characters of a sentence that may ask; a longer one is pasted text without full stops."""

LONGEST_PROMPT: Final = 4_000_000
"""Characters of the longest prompt."""

LONGEST_PASTED: Final = 200
"""Characters of the words of a paste that a prompt which refers to it is searched with, too."""

END_LENGTH: Final = 200
"""Characters at each end of a long said text that are searched for if no sentence asks. They say
as well as the whole what it is about (docs/how/constants.md#long-questions)."""

_SHORT_PASTE: Final = 160
"""Characters from which one or two lines of machine text are a paste, and no quotation."""

_LONGEST_LINE: Final = 1_000
"""Characters of a line that say what it is."""

ORDER: Final = re.compile(
    r"^\W*(?:(?:please|hey|hi|ok(?:ay)?|so|now|let'?s)\W+)*"
    r"(?:add|adjust|brainstorm|build|change|check|compare|continue|create|design|draft|explain|fix"
    r"|generate|give me|help|implement|improve|make|optimi[sz]e|outline|plan|propose|recommend"
    r"|refactor|review|rewrite|suggest|translate|update|write)\b",
    re.IGNORECASE,
)
QUESTION_MARKS: Final = ("?", "？", "؟")  # noqa: RUF001
_QUESTION_WORD = re.compile(
    r"\W*(?:what|which|who|whose|whom|when|where|why|how|do|does|did|is|are|was|were|can|could"
    r"|should|would|will|tell|show|remind|find|list)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:any (?:ideas?|tips|suggestions?)|should i|recommend\w*)\b", re.IGNORECASE
)
# "Is this fine to merge?" is about the paste.
_REFERS = re.compile(r"\b(?:this|these|that|those|here|above|below)\b", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAME = re.compile(r"[^\W\d_]+(?:_[^\W\d_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。？！])|\n+")  # noqa: RUF001

_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")
_OPENING = re.compile(  # of a line of a log, a trace, a diff, a table or statements
    r"\W{0,3}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z]\w\w +\d{1,2} \d\d:\d\d:\d\d"
    r"|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b|\d{1,3}(?:\.\d{1,3}){3} "
    r"|npm (?:ERR|WARN)|E   |FAILED |PASSED )"
    r"|\s*(?:Traceback \(most recent|File \".*\", line \d+|at [\w$.<>]+\(|Caused by:"
    r"|\w+(?:\.\w+)*(?:Error|Exception|Warning)\b[:(]|panic:|goroutine \d+|thread '.*' panicked"
    r"|\.\.\. \d+ more|#\d+ +0x)"
    r"|diff --git|index [0-9a-f]{7}|@@ |\+\+\+ |--- [ab/]|[+-][ +-]?\s*\w.*[;{}()=:,]$"
    r"|\s*[=_\-*]{5,}|error(?:\[\w+\])?:|warning:|\s*(?:- )?[\w.-]+:$|[\w.-]+(?:,[\w.-]*){2,}$"
    r"|(?:FROM|JOIN|LEFT|WHERE|GROUP BY|ORDER BY|VALUES|SET|LIMIT)\b"
)
_CODE = re.compile(  # code and data, where the line does not read as prose
    r"\s*(?:import |from \S+ import|#include|package |using |def |class |async def|return\b"
    r"|(?:if|for|while|with) .*:$|else:|elif |try:|except|@\w+|function |const |let |var |export "
    r"|public |private |static |fn |func |type \w+ |struct |(?:SELECT|INSERT|UPDATE|CREATE|ALTER)\b"
    r"|</?\w+[^>]*>|<\?|\$ |>>> |\}|\]|\{|//|/\*|\* |# ?\w+ ?=|\$?\w+ ?= ?\S"
    r"|\w+(?:\.\w+)*\(.*\)[;:]?$"
    r"|\"[^\"]+\"\s*:|[{}\[\]],?\s*$|\{\".*\}|\[.*\],?$|[\w.-]+: (?:[\"\d{\[]|true|false|null))"
)
_CODE_END = re.compile(r"(?:[{};,\\|]|\)\s*|=>)$")
_ERROR = re.compile(r"error|exception|fail|fatal|panic|denied|refused", re.IGNORECASE)
_SENTENCE_MARK = re.compile(r"[?!.:。？！]\s*$")  # noqa: RUF001
_WORD = re.compile(r"[^\W\d_]+")
_WIDE = re.compile(f"[{HAN_AND_KANA}]")
_FUNCTION_WORDS = frozenset(
    """the a an is are was were be to of in on for and or that this with we i you it my our your do
    does did can could should would what which who where when why how please not at by from have
    has if will so as me there here
    der die das ist und nicht wir ich wie was warum wo den dem ein eine mit von für auf bei
    le la les est et pas je nous que quoi comment pourquoi où un une des du dans pour ce en sans
    el los las es y no yo nosotros qué cómo por dónde una del para con""".split()
)


class Part(NamedTuple):
    """A stretch of a prompt: a sentence of its writer's, or a pasted text.

    Attributes:
        kind: "question" or "task" for what asks, "told" for what else the writer says, "pasted".
        start: Offset of its first character.
        end: Offset behind its last character.
    """

    kind: PartKind
    start: int
    end: int


class _Line(NamedTuple):
    """A line with its offset. `is_machine` is None for a blank line."""

    text: str
    start: int
    is_machine: bool | None
    is_fence: bool = False


def cut_prompt(text: str) -> list[Part]:
    """Return the parts of a prompt in their order.

        cut_prompt(f"How do we deploy?\\n\\n{log}")  # a question and a pasted part

    A fence, or a paragraph a third of whose lines read as a log, a trace, a diff, code or data, is
    pasted; a sentence above or below such lines is not. One or two lines without a fence are a
    quotation, and so said. Prose, such as an e-mail, reads like what the writer says.
    """
    parts: list[Part] = []
    lines = _read_lines(text)
    for is_pasted, members in groupby(_settle_runs(lines), lambda it: bool(it.is_machine)):
        run = list(members)
        start, end = run[0].start, run[-1].start + len(run[-1].text)
        if not text[start:end].strip():
            continue
        if is_pasted:
            parts.append(Part("pasted", start, end))
        else:
            parts += _split_sentences_of(text, start, end)
    return parts


def make_queries(text: str) -> list[str]:
    """Return the queries of a prompt: what `searched` returns, and the same with words of a paste.

    "Is this fine to merge?" is about the paste, "Who should I call about this?" may be about more:
    so if the prompt refers to a paste, a second query has the prompt with the paste's words, each
    once, 200 characters at most: a log says the same in each line.
    """
    text = read_ends(text)
    parts = cut_prompt(text)
    query = "\n".join(_find_searched(text, parts, LONGEST_SEARCHED))
    words: dict[str, None] = {}
    if _REFERS.search(query) and any(part.kind != "pasted" for part in parts):
        for part in parts:
            if part.kind == "pasted":
                pasted = _HUMP.sub(" ", text[part.start : part.end]).casefold()
                words |= dict.fromkeys(word for word in _NAME.findall(pasted) if len(word) > 2)
    return [query, f"{query}\n{' '.join(words)[:LONGEST_PASTED]}"] if words else [query]


def searched(text: str, limit: int = LONGEST_SEARCHED) -> list[str]:
    """Return the texts to search for, one to four, in the prompt's order.

        searched(f"{log}\\nWhich team owns the checkout service?")  # its last line

    What is pasted is left out. Of a longer said text the sentences that ask or order count, the
    last four, each with the sentence before it; if none does, both ends. Of a paste alone its first
    error and its last line are the question.

    Args:
        text: The prompt.
        limit: Characters of said text that are searched for as they are.
    """
    text = read_ends(text)
    return _find_searched(text, cut_prompt(text), limit)


def _find_searched(text: str, parts: Sequence[Part], limit: int) -> list[str]:
    own = [part for part in parts if part.kind != "pasted"]
    if not own:
        lines = [line for line in text.splitlines() if _WORD.search(line)]
        chosen = [*[line for line in lines if _ERROR.search(line)][:1], *lines[-1:]]
        return [_join(dict.fromkeys(line.strip()[: limit // 2] for line in chosen)) or text[:limit]]
    if len(own) == len(parts) and len(text) <= limit:
        return [text]
    whole = _join(text[first.start : last.end] for first, last in _stretches(parts))
    if len(whole) <= limit:
        return [whole]
    asking = [
        place
        for place, part in enumerate(own)
        if part.kind != "told" and part.end - part.start <= LONGEST_ASKING
    ][-MOST_ASKING:]
    sentences = [text[part.start : part.end] for part in own]
    if asking:
        # The sentence before says what "it" is.
        return [
            _join(sentences[place - 1 : place + 1])
            if place and place - 1 not in asking and len(sentences[place - 1]) <= LONGEST_ASKING
            else sentences[place]
            for place in asking
        ]
    return [whole[:END_LENGTH], whole[-END_LENGTH:]]


def read_ends(text: str) -> str:
    """Return a text without what lies between its first and its last 16,000 characters.

    Of that, lines that end in a question mark are kept, the last ten: a question may stand between
    two logs.
    """
    if len(text) <= 2 * READ_AT_EACH_END:
        return text
    lines: list[str] = []
    at, first = len(text) - READ_AT_EACH_END, READ_AT_EACH_END
    while len(lines) < MOST_KEPT and (at := text.rfind("?\n", first, at)) >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : at + 1].strip()
        if len(line) <= LONGEST_ASKING and line[0].isalpha():
            lines.append(line)
    ends = text[:READ_AT_EACH_END], text[-READ_AT_EACH_END:]
    return "\n\n".join([ends[0], *reversed(lines), ends[1]])


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without blanks around them."""
    return [sentence for part in _SENTENCE_END.split(text) if (sentence := part.strip())]


def begins_as_question(sentence: str) -> bool:
    """Return whether a sentence begins with a question word or an order."""
    return bool(_QUESTION_WORD.match(sentence) or ORDER.match(sentence))


def _join(texts: "Iterator[str] | Sequence[str] | dict[str, None]") -> str:
    return "\n".join(stripped for text in texts if (stripped := text.strip()))


def _stretches(parts: Sequence[Part]) -> Iterator[tuple[Part, Part]]:
    """Yield the first and the last part of each stretch of said text."""
    for is_pasted, members in groupby(parts, lambda it: it.kind == "pasted"):
        if not is_pasted:
            run = list(members)
            yield run[0], run[-1]


def _split_sentences_of(text: str, start: int, end: int) -> Iterator[Part]:
    at = start
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(text, start, end)), end]:
        sentence = text[at:stop].strip()
        if sentence:
            first = text.index(sentence, at)
            is_question = sentence.endswith(QUESTION_MARKS) or _QUESTION_WORD.match(sentence)
            is_task = ORDER.match(sentence) or _ADVICE.search(sentence)
            kind: PartKind = "question" if is_question else "task" if is_task else "told"
            yield Part(kind, first, first + len(sentence))
        at = stop


def _read_lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start, in_fence = 0, False
    for line in text.split("\n"):
        is_fence = bool(_FENCE.match(line))
        is_machine = True if is_fence or in_fence else _is_machine(line[:_LONGEST_LINE])
        lines.append(_Line(line, start, is_machine, is_fence or in_fence))
        in_fence ^= is_fence
        start += len(line) + 1
    return lines


def _is_machine(line: str) -> bool | None:
    text = line.strip()
    if not text:
        return None
    if _OPENING.match(line):
        return True
    is_indented = line.startswith((" ", "\t"))
    words, letters = _measure(text)
    is_prose = (words >= 0.2 or text[-1] in "?!。？！") and letters > 0.8  # noqa: RUF001
    if (is_prose and not line.startswith(("    ", "\t"))) or _WIDE.search(text):
        return False
    ends_as_code = bool(_CODE_END.search(text))
    return (
        bool(_CODE.match(line))
        or (is_indented and (ends_as_code or letters < 0.85 or words < 0.12))
        or letters < 0.62
        or (words < 0.12 and ends_as_code and letters < 0.85)
        or (words < 0.05 and letters < 0.75)
    )


def _measure(text: str) -> tuple[float, float]:
    """Return the share of function words among words, and of letters and blanks in the text."""
    words = _WORD.findall(text.casefold())
    plain = sum(character.isalpha() or character.isspace() for character in text)
    return sum(map(_FUNCTION_WORDS.__contains__, words)) / max(1, len(words)), plain / len(text)


def _is_sentence(line: str, least: int) -> bool:
    """Return whether a line reads as a sentence of at least so many words."""
    count, (words, letters) = len(_WORD.findall(line)), _measure(line or " ")
    is_ended = bool(_SENTENCE_MARK.search(line))
    if least > 3:
        return is_ended and count >= least and words >= 0.2 and letters > 0.9 and line[0].isalpha()
    return letters > 0.8 and (
        (is_ended and count >= least and words > 0) or (count > least and words >= 0.25)
    )


def _settle_runs(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines, each with what the lines around it say of it."""
    settled: list[_Line] = []
    for (is_fence, is_blank), members in groupby(
        lines, lambda it: (it.is_fence, it.is_machine is None)
    ):
        run = list(members)
        if not is_fence and not is_blank and len(run) > 2:
            own = [
                not it.is_machine and _is_sentence(it.text, 3 if at in {0, len(run) - 1} else 5)
                for at, it in enumerate(run)
            ]
            inner = [it for it, is_own in zip(run, own, strict=True) if not is_own]
            if len(inner) > 2 and sum(bool(it.is_machine) for it in inner) > len(inner) / 3:
                run = [
                    it._replace(is_machine=not is_own) for it, is_own in zip(run, own, strict=True)
                ]
        settled += run
    # A blank line belongs to a paste if both neighbours do.
    kinds = [it.is_machine for it in settled]
    after: list[bool] = [False] * len(kinds)
    following = False
    for at in range(len(kinds) - 1, -1, -1):
        following = bool(kinds[at]) if kinds[at] is not None else following
        after[at] = following
    before = False
    for at, it in enumerate(settled):
        if it.is_machine is None:
            settled[at] = it._replace(is_machine=before and after[at])
        before = bool(settled[at].is_machine)
    # A line or two of machine text is a quotation.
    final: list[_Line] = []
    for is_machine, members in groupby(settled, lambda it: it.is_machine):
        run = list(members)
        texts = [it.text for it in run]
        is_quoted = (
            is_machine
            and len(run) < 3
            and sum(map(len, texts)) < _SHORT_PASTE
            and not any(it.is_fence for it in run)
            and (len(run) == 1 or not any(_OPENING.match(it.text) for it in run))
        )
        # A fragment without a function word behind pasted lines is a part of them.
        is_rest = (
            not is_machine
            and bool(final and final[-1].is_machine)
            and sum(map(len, texts)) < 40
            and not any(_SENTENCE_MARK.search(text) or _measure(text or " ")[0] for text in texts)
            and any(text.strip() for text in texts)
            and not any(_WIDE.search(text) for text in texts)
        )
        final += [it._replace(is_machine=(is_machine and not is_quoted) or is_rest) for it in run]
    return final
