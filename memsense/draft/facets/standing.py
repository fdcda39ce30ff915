"""Standing rules: sentences in which a user says how work or answers are to be done from now on.

A rule is the one kind of memory that a model should follow, so that the sentence must be the
user's own: nothing that is pasted, quoted, or said by another speaker counts (`own_sentences`).
Which of the user's sentences are rules is decided by a logistic regression over the sentence's
vector, its cues and its frame (`benchmarks/fits/fit_rules.py`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memsense.draft.facets.model import (
    STANDING,
    STATED,
    Facets,
    FacetSpan,
    FacetTagger,
    build_facets,
)
from memsense.draft.facets.sentences import split_sentences
from memsense.text.language import detect
from memsense.text.prompts import cut_prompt
from memsense.text.words import read_sections

FEWEST_WORDS, MOST_WORDS = 2, 40
LONGEST_MESSAGE: Final = 2_000
"""Characters of the user's own words beyond which they are not typed: no rule is looked for."""

LEAST_BY_CUES: Final = -3.0
"""Log odds by the cues alone below which a sentence gets no vector: 1% of the rules of the fit."""

Embed = Callable[[Sequence[str]], NDArray[np.floating] | None]
"""Returns the vectors of sentences by the built-in English model; None if it is not in use."""

# The features of a sentence, in the order of their weights.
_CUES: Final = tuple(
    re.compile(cue, re.IGNORECASE) for cue in read_sections("standing")["cues"].split("\n")
)
_OPENERS: Final = read_sections("standing")["openers"].split()
_FRAME: Final = frozenset(read_sections("standing")["frame"].split())
_ENDING = re.compile("(?<=[a-z]{3})(?:ing|ed|ly|s|er|en)$")
PAIRS: Final = 2_048
"""Columns for pairs of neighbours in a sentence's frame, by their hash."""

# Lines that are not the user's own words: quoted, of a log, a table, markup, or a chat.
_FOREIGN_LINE = re.compile(r"\s*(?:[>|<#$@`\[{]|//|--|==|\d{1,2}:\d\d|.*\s-->\s)")
_LINE = re.compile(r"[^\n]+")
_WORD = re.compile("[a-z']+")
_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d[\d.,:%]*|[,;:!?.()-]")
_LABEL = re.compile(r"\s*(?:[-*] )?(?P<label>[^:.?!\n]{1,60}):(?:\s|$)")
# The user says "Rule: no spoilers.", but not "Nadja: no spoilers."
_OWN_LABEL = re.compile(
    r"(?:for|in|on|when\w*|before|after|if|with|also|btw|note|remember|important|please|from now"
    r"|from here|going|always|never|policy|convention|tone|language|style|replies|answers|less"
    r"|(?:\w+ ){0,2}(?:rules?|conventions?|preferences?|guidelines)|one (?:rule|more thing)"
    r"|let's|we|i|my|our|make a note|keep in mind)\b",
    re.IGNORECASE,
)
# From here on a message is another person's.
_MAIL = re.compile(
    r"^\W*(?:(?:from|subject|date|to|sent): |-+ ?(?:forwarded|original) |.*\bwrote:$)",
    re.IGNORECASE | re.MULTILINE,
)
# Who asks about a text, or points at it, has it in the message: only what is in that line, too, is
# surely the user's.
_POINTS = re.compile(
    r"\?(?:\s|$)|\bthis\b(?! (?:repo\w*|project|code ?base|app|chat|team|house|company|book|service"
    r"|machine|user|time|language)\b)|\b(?:these|following|below|attached|copied|pasted"
    r"|sent me|says|wrote|summari[sz]e|translate|proofread|here(?:'s| is| are))\b",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"[\"“”„«»]\s*(?:\S+\s+){3}")
_ADDRESS = re.compile(r"https?://|www\.|\w@\w|\w\.[a-z]{2,}/\w|<[/!\w]", re.IGNORECASE)
# No user calls the model that he talks to "the assistant"; a planted text does.
_MODEL = re.compile(
    r"\b(?-i:AIs?|LLMs?)\b|\b(?:language models?|(?:chat)?bots?)\b"
    r"|(?:^|\b(?:any|every|all|dear|the|to|for|your|digital|coding|computer) )"
    r"(?:assistants?|agents?|helpers?|model)\b",
    re.IGNORECASE,
)


class StandingTagger:
    """Tagger that adds the standing rules of the user's side to the facets of another tagger.

    Args:
        tagger: Finds all other facets.
        embed: Embeds sentences; without it, or if it returns None, cues alone decide.
        is_stated: Whether the caller says that the texts are rules: all of the user's own
            sentences are.
    """

    def __init__(
        self, tagger: FacetTagger, embed: Embed = lambda _: None, *, is_stated: bool = False
    ) -> None:
        self._tagger = tagger
        self._embed = embed
        self._is_stated = is_stated

    @property
    def name(self) -> str:
        """Name of the other tagger."""
        return self._tagger.name

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets stated on either side of one exchange."""
        facets = self._tagger.tag(user_text, assistant_text)
        names = (STANDING, STATED) if self._is_stated else (STANDING,)
        rules = [
            FacetSpan(
                facet="preferences",
                rule=name,
                text=user_text[start:end],
                start=start,
                end=end,
                side="user",
            )
            for start, end in find_rules(user_text, self._embed, is_stated=self._is_stated)
            for name in names
        ]
        if not rules:
            return facets
        others = [span for span in facets.spans if span.rule != STANDING]
        spans = sorted((*others, *rules), key=lambda it: (it.side == "assistant", it.start))
        return build_facets(tuple(spans), "stable")


def find_rules(text: str, embed: Embed, *, is_stated: bool = False) -> list[tuple[int, int]]:
    """Return the (start, end) of a user's standing rules: of stated ones, all sentences."""
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    places = list(own_sentences(plain))
    if is_stated or not places:
        return places
    sentences = [plain[start:end] for start, end in places]
    cues = read_cues(sentences)
    weights = load_weights()
    scores = cues @ weights[1, -cues.shape[1] :]
    near = [number for number, score in enumerate(scores) if score > LEAST_BY_CUES]
    if not near or detect(plain, "en") != "en":
        return []
    vectors = embed([sentences[number] for number in near])
    if vectors is not None:
        both = np.hstack([vectors, cues[near]]) @ weights[0]
        return [places[number] for number, score in zip(near, both, strict=True) if score > 0]
    return [places[number] for number in near if scores[number] > 0]


def read_cues(sentences: Sequence[str]) -> NDArray[np.float64]:
    """Return the cues of sentences, (n, cues) float64: pairs of their frame first; the last is 1.

    The frame of a sentence is its small words and signs, and the ending of each other word: that
    of "Dates are written in full." is "~s are ~en in ~ .".
    """
    rows: list[NDArray[np.float64]] = []
    for sentence in sentences:
        frame = [_name_word(token) for token in _TOKEN.findall(sentence.lower())]
        pairs = np.zeros(PAIRS)
        for gram in {*frame, "^", "$", *map(" ".join, pairwise(["^", *frame, "$"]))}:
            code = crc32(gram.encode())
            pairs[code % PAIRS] += 1 if code >> 31 else -1
        pairs /= max(float(np.linalg.norm(pairs)), 1.0)
        words = _WORD.findall(sentence.lower())
        opener = next((word for word in words if word != "please"), "")
        features = [float(bool(cue.search(sentence))) for cue in _CUES]
        features += [min(len(words), 30) / 30, *(float(opener == it) for it in _OPENERS), 1.0]
        rows.append(np.append(pairs, features))
    return np.array(rows)


def _name_word(token: str) -> str:
    """Return a word of the frame as it is, any other by its ending, and a number as "#"."""
    if token in _FRAME or not token[0].isalnum():
        return token
    ending = _ENDING.search(token)
    return "#" if token[0].isdigit() else f"~{ending[0]}" if ending else "~"


@cache
def load_weights() -> NDArray[np.float64]:
    """Return the weights with the vector and of cues alone, (2, 384 + cues)."""
    path = Path(__file__).parents[2] / "data" / "minilm" / "standing_rules.npy"
    return np.load(path, allow_pickle=False).astype(np.float64)


def own_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of the sentences that the user says of his own.

    Left out are pasted parts, lines of logs, mails, chats and markup, quotations, sentences with an
    address or to "the assistant", and in a message about a text all lines that don't ask about it:
    who planted a rule there is not known. Too few own sentences only cost a rule.

    Args:
        text: The text of one message.
    """
    mail = _MAIL.search(text)
    typed = [part for part in cut_prompt(text) if part.kind != "pasted"]
    end_of_own = mail.start() if mail else len(text)
    lines: dict[int, bool] = {}  # start of each own line: whether it asks about a text
    for line in _LINE.finditer(text, 0, end_of_own):
        is_typed = any(part.start < line.end() and line.start() < part.end for part in typed)
        label = _LABEL.match(line[0])
        is_other = label is not None and not _OWN_LABEL.match(label["label"].strip())
        points = bool(_POINTS.search(line[0])) or (is_other and line[0].rstrip().endswith(":"))
        if is_typed and not _FOREIGN_LINE.match(line[0]) and (points or not is_other):
            lines[line.start()] = points
    if sum(text.find("\n", at) % (len(text) + 1) - at for at in lines) > LONGEST_MESSAGE:
        return
    has_text = any(lines.values()) or mail is not None
    for start, end in split_sentences(text[:end_of_own]):
        sentence = text[start:end]
        at = text.rfind("\n", 0, start) + 1
        label = _LABEL.match(sentence)
        if (
            (lines.get(at, False) if has_text else at in lines)
            and FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS
            and (label is None or _OWN_LABEL.match(label["label"]))
            and not sentence.endswith(("?", ":"))
            and not _QUOTATION.search(sentence)
            and text.count('"', 0, start) % 2 == 0
            and not _ADDRESS.search(sentence)
            and not _MODEL.search(sentence)
        ):
            yield start, end
