"""Finds entities by rules: names, quoted titles, identifiers, files, hosts, handles and tags."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from memsense.graph.extraction.model import EntityKind, Found
from memsense.graph.extraction.naming import entity_key
from memsense.graph.extraction.words import COMMON, CONNECTORS, OPENING
from memsense.text.identifiers import FILE, NUMBER, SNAKE, TICKET, VERSION, is_date

LARGEST_TEXT = 20_000
"""Characters of an exchange that are read; what follows is rarely a person's own words."""

MOST_CAPITALS = 0.25
"""Texts with more different names inside sentences per word are headings, or German; those with
more words all in capitals are shouted."""

FEWEST_WORDS = 12
LONGEST_NAME = 5
LONGEST_TITLE = 8
LONGEST_ACRONYM = 6
SHORTEST_CAPITAL = 4
"""Letters from which a word of a title has a capital."""

_CODES = re.compile(
    rf"""
      (?P<host>https?://(?:www\.)?[\w.-]+\w)[^\s]*
    | (?P<address>(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]*\w)
    | (?P<handle>(?<![\w@/.])@[A-Za-z_]\w+)
    | (?P<tag>(?<![\w&/#])\#[^\W\d_]\w+)
    | (?P<number>{NUMBER})
    | (?P<file>{FILE})
    | (?P<ticket>{TICKET})
    | (?P<version>{VERSION})
    | (?P<snake>{SNAKE}(?:\(\))?)
    """,
    re.VERBOSE,
)
_CODE_MARK = re.compile(r"[@#_\d/]|\.\w")
_CODE_KINDS: dict[str, EntityKind] = {
    "host": "host",
    "address": "handle",
    "handle": "handle",
    "tag": "tag",
    "number": "identifier",
    "file": "file",
    "ticket": "identifier",
    "version": "identifier",
    "snake": "identifier",
}

_TITLE = re.compile(r"[\"“„«]([^\W_][^\"“”„«»\n]{2,60})[\"”“»]")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_UPPER = r"[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪİĶĹĽŁŃŇŌŐŘŚŞŠŤŪŮŰŹŻŽΑ-ΩА-ЯЁІЇЄҐ]"
_WORD = rf"(?:(?:[A-Z]\.){{2,3}}|{_UPPER}[\w]*(?:[-'\u2019.&][^\W\d_]+)*|[a-z]{{1,2}}{_UPPER}\w+)"
_CAPITALS = re.compile(
    rf"(?<![\w'\u2019@#/.\\-]){_WORD}"
    rf"(?:[ ](?:(?:of|the|de|del|della|di|da|dos|das|du|la|le|van|von|der|den|al|&)[ ]){{0,2}}"
    rf"(?:{_WORD}|\d{{1,4}}(?![\w.:])))*"
)
_LOOK_BACK = 6
_STARTS = re.compile(
    r"(?:^|[.!?:;…\n\u2028*•>|\-\u2013\u2014]|[.!?…][\"”'\u2019)]?)"
    rf"[\s\"“\u2018(*_]{{0,{_LOOK_BACK}}}$"
)
_ENDING = re.compile(r"['\u2019](?:s|S|ll|d|re|ve|m|t)?$")


class RuleExtractor:
    """Finds names by their capitals and the rest by their shape; deterministic, no model.

        found = RuleExtractor().extract("I met Ada in Lisbon.", speakers=())
        assert [item.name for item in found] == ["Ada", "Lisbon"]

    Precision goes before completeness: a capitalised word at the beginning of a sentence is a
    name only if it stands inside a sentence elsewhere in the text, names a speaker, or goes on
    with another capitalised word. Scripts without capitals yield titles, identifiers and speakers
    alone; so do shouted text and German, whose capitals say nothing.
    """

    @property
    def name(self) -> str:
        """The extractor's name."""
        return "rules"

    def extract(self, text: str, speakers: Sequence[str]) -> Sequence[Found]:
        """Every occurrence of an entity in the text; names first, then titles and identifiers."""
        read = text[:LARGEST_TEXT]
        titles = list(_find_titles(read))
        codes = list(_find_codes(read)) if _CODE_MARK.search(read) else []
        fences = [match.span() for match in _FENCE.finditer(read)] if "```" in read else []
        taken = [*fences, *(span for span, _ in (*titles, *codes))]
        return [
            *_find_names(_blank_out(read, taken) if taken else read, speakers),
            *(found for _, found in titles),
            *(found for _, found in codes),
        ]


def _blank_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text of the same length with a lower-case letter wherever a span stands."""
    letters = list(text)
    for start, end in spans:
        letters[start:end] = "x" * (end - start)
    return "".join(letters)


def _find_codes(text: str) -> Iterator[tuple[tuple[int, int], Found]]:
    for match in _CODES.finditer(text):
        group = match.lastgroup
        assert group is not None
        name = match[group]
        if group == "version" and is_date(name):
            continue
        yield match.span(), Found(_CODE_KINDS[group], _shorten_code(group, name))


def _shorten_code(group: str, name: str) -> str:
    """The host of an address on the web, the last part of a file's path; else all of it."""
    if group == "host":
        return name.split("://", 1)[1].removeprefix("www.")
    return name.rsplit("/", 1)[-1] if group == "file" else name.removesuffix("()")


def _find_titles(text: str) -> Iterator[tuple[tuple[int, int], Found]]:
    for match in _TITLE.finditer(text):
        title = match[1].strip()
        if _is_title(title):
            yield match.span(), Found("title", title)


def _is_title(text: str) -> bool:
    """Whether most words have capitals, and the whole is no sentence and no word of every day."""
    words = text.rstrip(",").split()
    if len(words) > LONGEST_TITLE or text[-1] in ".!?…:;":
        return False
    if len(words) == 1:
        return text[0].isupper() and entity_key(text) not in COMMON
    long = [word for word in words if len(word) >= SHORTEST_CAPITAL]
    return words[0][0].isupper() and all(word[0].isupper() or word[0].isdigit() for word in long)


def _find_names(text: str, speakers: Sequence[str]) -> Iterator[Found]:
    runs = [(match.start(), match[0]) for match in _CAPITALS.finditer(text)]
    if not runs:
        return
    known = _speaker_keys(tuple(speakers))
    inner, opening = _sort_runs(text, runs)
    seen = {entity_key(name) for name in inner} | known
    if _says_nothing(text, runs, inner):
        inner = [name for name in inner if entity_key(name) in known]
        opening = [name for name in opening if entity_key(name) in known]
    yield from (Found("name", name) for name in inner)
    for name in opening:
        if entity_key(name) in seen or _is_sure(name):
            yield Found("name", name)


def _sort_runs(text: str, runs: Sequence[tuple[int, str]]) -> tuple[list[str], list[str]]:
    """The names inside sentences, and those that begin one."""
    inner: list[str] = []
    opening: list[str] = []
    for start, run in runs:
        begins = start == 0 or _STARTS.search(text, max(0, start - _LOOK_BACK), start) is not None
        name, stripped = _strip_common(run, begins=begins)
        if name:
            (opening if begins and not stripped else inner).append(name)
    return inner, opening


def _strip_common(run: str, *, begins: bool) -> tuple[str, bool]:
    """The run without common words at its ends, and whether one stood in front.

    Inside a sentence an adjective with a capital belongs to the name: "New York", "Little Women".
    """
    words = run.split()
    first, last = 0, len(words)
    while first < last and _is_common(words[first]):
        if not begins and _goes_on(words[first : min(last, first + 2)]):
            break
        first += 1
    while last > first and _is_common(words[last - 1]):
        last -= 1
    kept = words[first:last]
    if not kept or len(kept) > LONGEST_NAME or kept[0][0].isdigit():
        return "", first > 0
    return _ENDING.sub("", " ".join(kept)), first > 0


def _goes_on(words: Sequence[str]) -> bool:
    """Whether a common word with a capital begins a longer name; `words` are it and the next."""
    if len(words) == 1 or not words[0][0].isupper():
        return False
    return words[0].casefold() in OPENING or words[1] in CONNECTORS


@lru_cache(maxsize=4096)
def _is_common(word: str) -> bool:
    plain = word.casefold().replace("\u2019", "'")
    bare = _ENDING.sub("", plain)
    if plain in COMMON or bare in COMMON or bare in CONNECTORS or len(bare) <= 1:
        return True
    return word.isupper() and len(word) > LONGEST_ACRONYM


def _is_sure(name: str) -> bool:
    """Whether a name at the beginning of a sentence is one by its shape alone."""
    words = name.split()
    return len(words) > 1 or (name[1:] != name[1:].lower() and name.isalnum())


def _says_nothing(text: str, runs: Sequence[tuple[int, str]], inner: Sequence[str]) -> bool:
    """Whether capitals are so frequent that they mark no names."""
    words = text.count(" ") + 1
    names = len(set(inner)) if words >= FEWEST_WORDS else 0
    shouted = sum(len(word) > 1 and word.isupper() for _, run in runs for word in run.split())
    return max(names, shouted - 1) > MOST_CAPITALS * words


@lru_cache(maxsize=256)
def _speaker_keys(speakers: tuple[str, ...]) -> frozenset[str]:
    """The keys of full names and first names."""
    names = [name for label in speakers for name in (label, label.split(" ", 1)[0]) if name]
    return frozenset(key for name in names if (key := entity_key(name)) and key not in COMMON)
