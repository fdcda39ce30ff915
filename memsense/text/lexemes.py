"""Lexemes of texts and questions: the words that the lexical route compares, in any script.

    text --clean--> units --fold, stem--> lexemes

A unit is a word with its inner signs, an emoji, or a run of a script that is written without
blanks. Texts and questions are read alike, so that a word is found however it is spelt: width,
accents, ligatures, ß, hamza, kana, CamelCase. A question adds spellings that the index has not:
the word's stem in each language of the memory, ae for ä. Stored texts are never changed.

PostgreSQL's parser and dictionaries take no part: their results change between major versions, and
they stem before they fold.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise, starmap
from typing import Any, NamedTuple, Protocol

import Stemmer

from memsense.text.language import SCRIPTS, STEMMERS, read_stop_words
from memsense.text.scripts import HAN_AND_KANA, KHMER, LAO, MYANMAR, THAI, unify_forms

LONGEST_LEXEME = 500
"""Characters of a lexeme: 2,000 bytes at most, and PostgreSQL takes 2,046."""

LARGEST_PLACE = 16_383
"""PostgreSQL's last place in a tsvector; words behind it share it."""

MOST_PLACES = 255
"""Places that PostgreSQL keeps of one lexeme."""

LARGEST_VECTOR = 240_000
"""Bytes of a text's lexemes and places. Four fields and a text's identifiers are one tsvector, of
which PostgreSQL takes 1 MB."""

LONGEST_COMPOUND = 60
"""Characters of a unit up to which it is also found whole, without its signs, and its words by
themselves: longer ones are keys, hashes and paths."""

NEAR_LETTERS = 4
"""Letters from which a word may be looked up among near lexemes."""

_HANGUL = "\uac00-\ud7a3"
_UNSPACED = f"{HAN_AND_KANA}{THAI}{LAO}{KHMER}{MYANMAR}{_HANGUL}"
# Marks that belong to the letter before them, and are no `\w`: combining marks of Latin, Greek,
# Cyrillic, Syriac, Thaana, N'Ko, Tibetan, Balinese and Javanese, and the scripts of India and Sri
# Lanka but their full stops (their letters are in the ranges too).
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0f71-\u0f84\u0f8d-\u0fbc"
    "\u1b00-\u1b44\ua980-\ua9c0\u0900-\u0963\u0966-\u096f\u0971-\u0df3"
)
_EMOJI = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2b05-\u2b07"
    "\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[-._/][A-Za-z0-9]+)*")

# Characters that change how a text looks, or nothing: soft hyphen, joiners (with the sex that one
# joins to an emoji), directions, variation selectors, tatweel, fillers, skin tones, tags.
_UNSEEN = re.compile(
    "\u200d[\u2640\u2642]?|[\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff"
    # Hebrew points and accents, Arabic harakat: few write them. Hamza and madda are left to `fold`.
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_SIGNS = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013", "-"), "\u02bc": "'"})

_MARKS_TO_DROP = re.compile(
    "(?<=[a-z\u03b1-\u03c9])[\u0300-\u036f]+"  # Latin and Greek
    "|(?<=[\u0430-\u045f])[\u0301\u0308]+"  # Cyrillic: stress and ё, ї, but not й, ў
    "|[\u0653-\u0655]"  # Arabic: madda and hamza
)
_LETTER_FORMS = str.maketrans(
    dict(zip("øłđðħŧı", "olddhti", strict=True))
    | {"þ": "th", "æ": "ae", "œ": "oe", "ŋ": "ng"}
    # Arabic alef, ya, kaf and ta marbuta.
    | {"\u0671": "\u0627", "\u0649": "\u064a", "\u06cc": "\u064a"}
    | {"\u06a9": "\u0643", "\u0629": "\u0647"}
)
_HIRAGANA = {point: point - 0x60 for point in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)}

_PART = re.compile(r"[^-._/]+")
_LETTERS_OR_DIGITS = re.compile(r"\d+|\D+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_WITH_UMLAUTS = frozenset(("da", "de", "fi", "hu", "no", "sv", "tr"))
# Not in "queue" and "neue".
_TWO_FOR_UMLAUT = re.compile("(?<![aeq])([aou])e")

# Chinese characters of grammar: pronouns, particles, negations and question words.
_FUNCTION_CHARACTERS = frozenset(
    "的了着过得地是在有和与或就也都还很不没別别我你您他她它们們这這那哪什么麼怎吗嗎呢吧啊几幾个個之其于於以而"
    "为為被把从從到对對"
)

_stemmers = threading.local()


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802


class Unit(NamedTuple):
    """A word of a text, or a part of one, with the parts by which it is found as well.

    A run of a script without blanks has no word of its own: its text is ''. `singles` are the
    Chinese characters of a pair, by which it is found as well.
    """

    text: str
    parts: "tuple[Unit, ...]" = ()
    singles: str = ""


# Pieces at one place of a text: each with its spellings, first that of the text's own language.
Place = tuple[tuple[str, ...], ...]


def index_lexemes(text: str, language: str) -> str:
    """Return the lexemes of a stored text as the literal of a tsvector.

        index_lexemes("The keys of room B-12", "en")  # "'key':1 'room':2 'b':3 '12':4 'b12':4"

    Stop words of the language make no lexeme and take no place. A unit's parts take a place each,
    in order; the unit as a whole is at the place of its last part, and a single Chinese character
    at that of its pair. So the number of different places is the number of the text's words, up to
    16,383.

    Args:
        text: Any text, control characters and all.
        language: ISO 639-1 code, as `detect` returns it; one without stemmer or stop words is read
            without.

    Returns:
        Lexemes in the order of their first places, each with up to 255 places, without weights; ''
        for a text without words. PostgreSQL takes every one of them: a lexeme is cut at 500
        characters, and the last lexemes of a text that has more than 240,000 bytes are left out.
    """
    places: dict[str, list[int]] = {}
    for number, lexemes in enumerate(_index(text, language), 1):
        for lexeme in lexemes:
            places.setdefault(lexeme, []).append(min(number, LARGEST_PLACE))
    literals: list[str] = []
    size = 0
    for lexeme, numbers in places.items():
        numbers = numbers[:MOST_PLACES]  # noqa: PLW2901
        # A byte for alignment, two for the count, two for each place.
        size += len(lexeme.encode()) + 3 + 2 * len(numbers)
        if size > LARGEST_VECTOR:
            break
        literals.append(f"'{lexeme}':{','.join(map(str, numbers))}")
    return " ".join(literals)


def ask_lexemes(text: str, language: str, languages: Iterable[str]) -> str:
    """Return the lexemes of a question as the literal of a tsvector: spellings of numbered words.

        ask_lexemes("Where is Müller?", "en", ["en", "de"])  # "'muller':1A 'mueller':1 'mull':1"

    A lexeme has one place, the number of the word that it is a spelling of. Lexemes of the same
    number are alternatives: one of them in a text is enough. Numbers begin at 1 and may have gaps.

    A word's spellings are its stem in the question's language and in each of the memory's (except
    where it is a stop word), and ae, oe, ue for ä, ö, ü and the other way round. A unit's parts are
    words of their own, and its whole is a spelling of the last. The characters of a Chinese pair
    are spellings of the pair, except function words such as 的. A lexeme that several words have
    belongs to the one whose first spelling it is, else to the first of them.

    Args:
        text: The question.
        language: Its ISO 639-1 code. Its stop words are left out.
        languages: Codes of the languages that the memory holds.

    Returns:
        The literal. Weight A marks the first spelling of a word that may be looked up among near
        lexemes if the memory has none of its spellings: of four letters or more, without digits,
        and of a script that isn't cut into pairs. '' for a question without words.
    """
    every = _own_first(language, languages)
    lexemes: dict[str, tuple[int, str]] = {}
    others: list[tuple[str, int]] = []
    number = 0
    for token, kind in _find_tokens(text):
        is_short = len(token) <= LONGEST_COMPOUND
        read = _ask_token if is_short else _ask_token.__wrapped__
        for place in read(token, kind, every):
            number += 1
            for first, more, weight in place:
                of_word, _ = lexemes.setdefault(first, (number, weight))
                if more:
                    others += [(spelling, of_word) for spelling in more]
    for spelling, of_word in others:
        lexemes.setdefault(spelling, (of_word, ""))
    return " ".join(
        f"'{lexeme}':{min(of_word, LARGEST_PLACE)}{weight}"
        for lexeme, (of_word, weight) in lexemes.items()
    )


def list_lexemes(text: str, language: str) -> list[str]:
    """Return all different lexemes of a stored text, in the order of `index_lexemes`."""
    return list(dict.fromkeys(chain.from_iterable(_index(text, language))))


def lexical_query(text: str, language: str, languages: Iterable[str]) -> str:
    """Return a question as the literal of a tsquery that asks for every word, in any spelling.

        lexical_query("Where is X-2000?", "en", ["en"])  # "('x2000' | ('x' & '2000'))"

    Args:
        text: The question.
        language: Its ISO 639-1 code. Its stop words are left out.
        languages: Codes of the languages that the memory holds.

    Returns:
        The literal: words joined by `&`, each the spellings of `ask_lexemes` joined by `|`. A unit
        is met by its whole or by all of its parts. '' for a question without words.
    """
    every = _own_first(language, languages)
    words = (_query_unit(unit, every) for unit in starmap(_read_token, _find_tokens(text)))
    return " & ".join(dict.fromkeys(word for word in words if word))


def clean(text: str) -> str:
    """Return the text in one form of Unicode (NFKC), without signs that few write or see.

    Joiners, soft hyphens, directions, skin tones, Arabic harakat and Hebrew points are dropped,
    digits of all scripts are 0 to 9, and hyphens are `-`. Letters keep case and accents.
    """
    if text.isascii():
        return text
    text = unify_forms(_UNSEEN.sub("", text))
    # Forms of presentation are unified into letters with such characters, and what these have
    # kept apart may join.
    if _UNSEEN.search(text):
        text = unify_forms(_UNSEEN.sub("", text))
    return _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text).translate(
        _SIGNS
    )


def fold(word: str) -> str:
    """Return the word in lower case without accents: Straße, STRASSE and strasse are strasse.

    Marks of Latin and Greek letters fall away, of Cyrillic ones only stress and diaeresis
    (ё loses its dots, й keeps its mark); ø, ł, æ and the like are plain letters, alef has one form,
    katakana is hiragana.
    """
    word = word.casefold()
    if word.isascii():
        return word
    word = unicodedata.normalize("NFD", word).translate(_LETTER_FORMS)
    word = unicodedata.normalize("NFC", _MARKS_TO_DROP.sub("", word))
    return word.translate(_HIRAGANA)


@lru_cache(maxsize=1)
def _unit_pattern() -> re.Pattern[str]:
    """Return the pattern of units: it takes 9 ms to compile, and ASCII needs none of it."""
    # The first letter of a word is of no run: those come first.
    return re.compile(
        rf"(?P<han>[{HAN_AND_KANA}]+)"
        rf"|(?P<hangul>[{_HANGUL}]+)"
        rf"|(?P<south>[{THAI}]+|[{LAO}]+|[{KHMER}]+|[{MYANMAR}]+)"
        rf"|(?P<emoji>[\U0001f1e6-\U0001f1ff]{{1,2}}|[{_EMOJI}])"
        rf"|(?P<word>[^\W_](?:[^\W_{_UNSPACED}]|[{_MARKS}]|[-._/](?=[^\W_]))*+)"
    )


def _own_first(language: str, languages: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((language, *languages)))


def _find_tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the units of a text as they are written when it is clean, and their kinds."""
    text = clean(text)
    if text.isascii():
        for word in _ASCII_WORD.findall(text):
            yield word, "word"
        return
    for match in _unit_pattern().finditer(text):
        yield match[0], match.lastgroup or ""


def _read_token(token: str, kind: str) -> Unit:
    if kind == "word":
        return _read_word(token)
    return Unit(token) if kind == "emoji" else _cut_run(token, kind)


def _cut_run(run: str, kind: str) -> Unit:
    """Return a run of letters without blanks, cut into pairs. A character keeps its marks."""
    starts = [i for i, p in enumerate(run) if not i or unicodedata.category(p)[0] != "M"]
    characters = [run[start:end] for start, end in pairwise([*starts, len(run)])]
    if len(characters) == 1:
        return Unit(run)
    is_han = kind == "han"
    pairs = [
        Unit(first + second, singles=_find_han(first) if is_han else "")
        for first, second in pairwise(characters)
    ]
    if is_han:
        pairs[-1] = Unit(pairs[-1].text, singles=pairs[-1].singles + _find_han(characters[-1]))
    # Korean puts blanks between words, and particles behind them.
    return Unit(run if kind == "hangul" else "", tuple(pairs), run if kind == "hangul" else "")


def _find_han(character: str) -> str:
    return character[0] if character[0] >= "\u3400" else ""


def _read_word(word: str) -> Unit:
    """Return a word with the words that its signs, its digits and its capitals separate."""
    if word.isalpha() and (word.islower() or word.istitle()):
        return Unit(word)  # most words
    # A sign at the end stood before a run of another script.
    names = _PART.findall(word)
    word = names[0] if len(names) == 1 else word
    if len(names) > 1:
        parts = tuple(map(_read_word, names))
        if len(word) > LONGEST_COMPOUND:
            return Unit("", parts)
        # 1.11 is not 11.1.
        is_number = all(name.isdigit() for name in names) and not set(word) & set("-_/")
        return Unit(word if is_number else "".join(names), parts)
    if word.isdigit():
        return Unit(word, (Unit(short),) if (short := word.lstrip("0")) not in ("", word) else ())
    if len(word) > LONGEST_COMPOUND:
        return Unit(word)
    is_mixed = word.isascii() and not word.islower() and not word.isupper()
    pieces = (_CAMEL if is_mixed else _LETTERS_OR_DIGITS).findall(word)
    # Pieces of one letter each are those of a hash or a key.
    is_key = len(word) < 2 * len(pieces) and pieces[2:]
    return Unit(word, () if is_key or not pieces[1:] else tuple(map(_read_word, pieces)))


def _index(text: str, language: str) -> Iterator[tuple[str, ...]]:
    """Yield the lexemes of each place of a stored text."""
    for token, kind in _find_tokens(text):
        # The cache holds words, no keys and no sentences.
        is_short = len(token) <= LONGEST_COMPOUND
        read = _index_token if is_short else _index_token.__wrapped__
        yield from read(token, kind, language)


@lru_cache(maxsize=20_000)
def _index_token(token: str, kind: str, language: str) -> tuple[tuple[str, ...], ...]:
    places = _spell_unit(_read_token(token, kind), (language,), is_question=False)
    return tuple(tuple(chain.from_iterable(place)) for place in places)


@lru_cache(maxsize=5_000)
def _ask_token(
    token: str, kind: str, languages: tuple[str, ...]
) -> list[list[tuple[str, tuple[str, ...], str]]]:
    """Return a question's places of a token: for each piece its lexeme, its others, its weight."""
    places = _spell_unit(_read_token(token, kind), languages, is_question=True)
    # Behind the first piece of a place is the whole of a unit: an identifier.
    return [
        [
            (piece[0], piece[1:], "A" if at == 0 and _may_be_near(piece[0]) else "")
            for at, piece in enumerate(place)
        ]
        for place in places
    ]


def _spell_unit(unit: Unit, languages: tuple[str, ...], *, is_question: bool) -> list[Place]:
    """Return a place for each part of a unit; its whole and single characters are at the last."""
    places: list[Place] = []
    for part in unit.parts:
        places += _spell_unit(part, languages, is_question=is_question)
    last: list[tuple[str, ...]] = []
    if unit.text:
        last.append(_spell(unit.text, languages, is_question=is_question))
    if not is_question:
        last += ((single,) for single in dict.fromkeys(unit.singles))
    elif not unit.parts:
        # 药 finds 吃药 by 买药 as well. The single syllables of Korean words say too little.
        singles = set(unit.singles).difference(_FUNCTION_CHARACTERS)
        last += ((single,) for single in sorted(singles))
    more = tuple(filter(None, last))
    if not more:
        return places
    if unit.parts and places:
        places[-1] += more
    else:
        places.append(more)
    return places


def _query_unit(unit: Unit, languages: tuple[str, ...]) -> str:
    """Return the tsquery of a unit: its whole in any spelling, or all of its parts."""
    whole = _spell(unit.text, languages, is_question=True) if unit.text else ()
    parts = [query for part in unit.parts if (query := _query_unit(part, languages))]
    choices = [f"'{spelling}'" for spelling in whole]
    if len(parts) > 1:
        choices.append(f"({' & '.join(dict.fromkeys(parts))})")
    else:
        choices += parts
    choices = list(dict.fromkeys(choices))
    return f"({' | '.join(choices)})" if len(choices) > 1 else "".join(choices)


def _spell(word: str, languages: tuple[str, ...], *, is_question: bool) -> tuple[str, ...]:
    """Return the lexemes of a word, first that of the first language; none for its stop words."""
    # What is cut off is not folded first: putting thousands of marks in order takes long.
    folded = fold(word[:LONGEST_LEXEME])
    own = languages[0]
    if folded in _fold_stop_words(own):
        return ()
    if folded >= "\u0e00":  # no stemmer knows these scripts
        return (folded[:LONGEST_LEXEME],)
    if not is_question:
        return (_stem(folded, own)[:LONGEST_LEXEME],)
    spellings = [folded]
    if not word.isascii() and (two := (lower := word.casefold()).translate(_UMLAUTS)) != lower:
        spellings.append(fold(two))
    # English has "poet" and "guest", which are no "pot" and "gust"; a name may be of any language.
    if word[:1].isupper() or not _WITH_UMLAUTS.isdisjoint(languages):
        one = _TWO_FOR_UMLAUT.sub(r"\1", folded)
        if one != folded:
            spellings.append(one)
    if len(spellings) == len(languages) == 1:
        return (_stem(folded, own)[:LONGEST_LEXEME],)  # most words of most memories
    lexemes = (
        _stem(spelling, language)[:LONGEST_LEXEME]
        for spelling in dict.fromkeys(spellings)
        for language in languages
        if spelling not in _fold_stop_words(language)
    )
    return tuple(dict.fromkeys(lexemes))


def _may_be_near(lexeme: str) -> bool:
    return len(lexeme) >= NEAR_LETTERS and lexeme < "\u0e00" and not any(map(str.isdigit, lexeme))


@lru_cache(maxsize=64)
def _fold_stop_words(language: str) -> frozenset[str]:
    # A word ends at an apostrophe: of "dell'" and "aujourd'hui" remain the parts.
    words = map(fold, read_stop_words(language))
    return frozenset(part for word in words for part in word.split("'") if part)


@lru_cache(maxsize=20_000)
def _stem(word: str, language: str) -> str:
    """Return the stem of a folded word. Words with digits have none: b12s is no b12."""
    if word.isascii() and language in SCRIPTS:
        language = "en"  # Latin words between Chinese or Russian ones are English, as a rule
    if language not in STEMMERS or any(map(str.isdigit, word)):
        return word
    # A Stemmer is not for several threads.
    stemmers: dict[str, _Stemmer] = _stemmers.__dict__
    if language not in stemmers:
        module: Any = Stemmer
        stemmers[language] = module.Stemmer(STEMMERS[language], 0)  # no cache: this has one
    return fold(stemmers[language].stemWord(word)) or word
