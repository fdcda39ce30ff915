"""Entity rules: names, quoted titles, identifiers, files, hosts, handles and tags."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from memsense.graph.extraction.model import EntityKind, Occurrence
from memsense.graph.extraction.naming import entity_key
from memsense.text.identifiers import FILE, NUMBER, SNAKE, TICKET, VERSION, is_date
from memsense.text.words import COMMON, CONNECTORS, OPENING

LARGEST_TEXT = 20_000
"""Characters of an exchange that are read; what follows is rarely a person's own words."""

MOST_CAPITALS = 0.25
"""Share of different names, or of words in capitals, among a text's words; above it capitals mean
nothing. Texts with more names are headings, or German; those with more capitals are shouted."""

FEWEST_WORDS = 12
LONGEST_NAME = 5
LONGEST_TITLE = 8
LONGEST_ACRONYM = 6
SHORTEST_CAPITAL = 4
"""Letters from which on a word of a title must have a capital."""

# The first alternative that matches wins, so a host goes before the names and numbers inside it.
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
# The pattern is searched in these characters alone, so that a text of capitals stays linear.
_LOOK_BACK = 6
"""Characters before a name in which the beginning of its sentence is looked for."""
_STARTS = re.compile(
    r"(?:^|[.!?:;…\n\u2028*•>|\-\u2013\u2014]|[.!?…][\"”'\u2019)]?)"
    rf"[\s\"“\u2018(*_]{{0,{_LOOK_BACK}}}$"
)
_ENDING = re.compile(r"['\u2019](?:s|S|ll|d|re|ve|m|t)?$")


class RuleExtractor:
    """Extractor that finds names by their capitals and the rest by their shape, without a model.

        found = RuleExtractor().extract("I met Ada in Lisbon.", speakers=())
        assert [item.name for item in found] == ["Ada", "Lisbon"]

    Precision goes before completeness: a capitalised word at the beginning of a sentence is a
    name only if it occurs inside a sentence elsewhere in the text, names a speaker, or another
    capitalised word follows. Scripts without capitals yield titles, identifiers and speakers
    alone; so do shouted text and German, where capitals mean nothing.
    """

    @property
    def name(self) -> str:
        """Name of the extractor."""
        return "rules"

    def extract(self, text: str, speakers: Sequence[str]) -> Sequence[Occurrence]:
        """Return every occurrence of an entity: first names, then titles and identifiers.

        Args:
            text: Both sides of an exchange; its first 20,000 characters are read.
            speakers: Labels of the speakers of the conversation, which are names without further
                evidence.
        """
        read = text[:LARGEST_TEXT]
        titles = list(_find_titles(read))
        codes = list(_find_codes(read)) if _CODE_MARK.search(read) else []
        fences = [match.span() for match in _FENCE.finditer(read)] if "```" in read else []
        # Words of a title are no names of their own, and code in fences has none. Lower-case
        # letters take their place, so that offsets and the beginnings of sentences stay.
        spans = [*fences, *(span for span, _ in (*titles, *codes))]
        prose = read
        if spans:
            letters = list(read)
            for start, end in spans:
                letters[start:end] = "x" * (end - start)
            prose = "".join(letters)
        return [
            *_find_names(prose, speakers),
            *(title for _, title in titles),
            *(code for _, code in codes),
        ]


def _find_codes(text: str) -> Iterator[tuple[tuple[int, int], Occurrence]]:
    for match in _CODES.finditer(text):
        group = match.lastgroup
        assert group is not None
        name = match[group]
        # "2024.05.07" has the shape of a version.
        if group == "version" and is_date(name):
            continue
        # One entity, wherever it lies and however it is written: a host without its scheme, a
        # file without its folders, a function without its brackets.
        if group == "host":
            name = name.split("://", 1)[1].removeprefix("www.")
        elif group == "file":
            name = name.rsplit("/", 1)[-1]
        else:
            name = name.removesuffix("()")
        yield match.span(), Occurrence(_CODE_KINDS[group], name)


def _find_titles(text: str) -> Iterator[tuple[tuple[int, int], Occurrence]]:
    for match in _TITLE.finditer(text):
        title = match[1].strip()
        if _is_title(title):
            yield match.span(), Occurrence("title", title)


def _is_title(text: str) -> bool:
    """Return whether a quote is a title: capitals on longer words, no sentence, no common word."""
    # What ends like a sentence is quoted speech.
    words = text.rstrip(",").split()
    if len(words) > LONGEST_TITLE or text[-1] in ".!?…:;":
        return False
    if len(words) == 1:
        return text[0].isupper() and entity_key(text) not in COMMON
    long = [word for word in words if len(word) >= SHORTEST_CAPITAL]
    return words[0][0].isupper() and all(word[0].isupper() or word[0].isdigit() for word in long)


def _find_names(text: str, speakers: Sequence[str]) -> Iterator[Occurrence]:
    runs = [(match.start(), match[0]) for match in _CAPITALS.finditer(text)]
    if not runs:
        return
    # Names inside sentences, and names that begin one.
    inner: list[str] = []
    opening: list[str] = []
    for start, run in runs:
        begins = start == 0 or _STARTS.search(text, max(0, start - _LOOK_BACK), start) is not None
        name, stripped = _strip_common(run, begins=begins)
        if name:
            (opening if begins and not stripped else inner).append(name)

    speaker_keys = _speaker_keys(tuple(speakers))
    certain = {entity_key(name) for name in inner} | speaker_keys
    if _has_idle_capitals(text, runs, inner):
        inner = [name for name in inner if entity_key(name) in speaker_keys]
        opening = [name for name in opening if entity_key(name) in speaker_keys]
    yield from (Occurrence("name", name) for name in inner)
    for name in opening:
        words = name.split()
        # Its shape makes it a name by itself: several words, or capitals inside ("TikTok").
        has_shape = len(words) > 1 or (name[1:] != name[1:].lower() and name.isalnum())
        if entity_key(name) in certain or has_shape:
            yield Occurrence("name", name)


def _strip_common(run: str, *, begins: bool) -> tuple[str, bool]:
    """Return the run without common words at its ends, and whether one stood in front."""
    words = run.split()
    first, last = 0, len(words)
    while first < last and _is_common(words[first]):
        # Inside a sentence an adjective with a capital belongs to the name: "New York".
        if not begins and _begins_name(words[first : min(last, first + 2)]):
            break
        first += 1
    while last > first and _is_common(words[last - 1]):
        last -= 1
    name = words[first:last]
    if not name or len(name) > LONGEST_NAME or name[0][0].isdigit():
        return "", first > 0
    return _ENDING.sub("", " ".join(name)), first > 0


def _begins_name(words: Sequence[str]) -> bool:
    """Return whether a common word with a capital begins a name; `words` are it and the next."""
    # "I'm Ines" is a sentence.
    is_contraction = "'" in words[0] or "\u2019" in words[0]
    if len(words) == 1 or not words[0][0].isupper() or is_contraction:
        return False
    return words[0].casefold() in OPENING or words[1] in CONNECTORS


@lru_cache(maxsize=4096)
def _is_common(word: str) -> bool:
    plain = word.casefold().replace("\u2019", "'")
    bare = _ENDING.sub("", plain)
    if plain in COMMON or bare in COMMON or bare in CONNECTORS or len(bare) <= 1:
        return True
    return word.isupper() and len(word) > LONGEST_ACRONYM


def _has_idle_capitals(text: str, runs: Sequence[tuple[int, str]], inner: Sequence[str]) -> bool:
    """Return whether capitals are so frequent that they mark no names."""
    # Of few words, one name is a large share already.
    words = text.count(" ") + 1
    names = len(set(inner)) if words >= FEWEST_WORDS else 0
    shouted = sum(len(word) > 1 and word.isupper() for _, run in runs for word in run.split())
    return max(names, shouted - 1) > MOST_CAPITALS * words


@lru_cache(maxsize=256)
def _speaker_keys(speakers: tuple[str, ...]) -> frozenset[str]:
    """Return the keys of the speakers' full names and first names."""
    names = [name for label in speakers for name in (label, label.split(" ", 1)[0]) if name]
    return frozenset(key for name in names if (key := entity_key(name)) and key not in COMMON)
