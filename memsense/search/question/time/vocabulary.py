"""Words of a question with their roles, by the table of one language."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple
from unicodedata import combining, normalize

from memsense.search.question.time.lexer import Token
from memsense.search.question.time.tables import load_table, read_forms, split_form

SHORTEST_WITHOUT_ACCENTS = 4


class Word(NamedTuple):
    """A word or phrase of a question with its role in one language."""

    role: str
    value: Any
    start: int
    end: int
    text: str


class Vocabulary:
    """Words and phrases of a table, by their first word."""

    def __init__(self, code: str) -> None:
        """Index the table of a language."""
        self.table = table = load_table(code)
        self.words: dict[str, tuple[str, Any]] = {}
        self.phrases: dict[str, list[tuple[tuple[str, ...], str, Any]]] = {}
        for form, role, value in table.entries():
            self.add(form, role, value)
        for phrases in self.phrases.values():
            phrases.sort(key=lambda phrase: -len(phrase[0]))
        self.shared, self.counted, self.verbs, self.people, self.past = (
            frozenset(read_forms(forms))
            for forms in (table.shared, table.counted, table.verbs, table.people, table.past)
        )

    def add(self, form: str, role: str, value: Any) -> None:
        """Add a word or phrase; of two with one form the first counts."""
        parts = split_form(form)
        # People drop accents.
        for spelling in {parts, tuple(map(strip_accents, parts))}:
            if len(spelling) == 1:
                self.words.setdefault(spelling[0], (role, value))
            else:
                self.phrases.setdefault(spelling[0], []).append((spelling, role, value))

    def read(self, tokens: Sequence[Token], text: str, *, is_known: bool) -> list[Word]:
        """Return the words of tokens with their roles; `is_known`: they are of this language."""
        words: list[Word] = []
        names = [token.text for token in tokens]
        position = 0
        while position < len(tokens):
            token = tokens[position]
            size, role, value = 1, token.role or "#", token.value
            for parts, phrase_role, phrase_value in self.phrases.get(token.text, ()):
                if tuple(names[position : position + len(parts)]) == parts:
                    size, role, value = len(parts), phrase_role, phrase_value
                    break
            else:
                entry = self.words.get(token.text)
                if entry is not None and (is_known or token.text not in self.shared):
                    role, value = entry
            end = tokens[position + size - 1].end
            words.append(Word(role, value, token.start, end, text[token.start : end]))
            position += size
        return words


@cache
def load_vocabulary(code: str) -> Vocabulary:
    """Return the vocabulary of a language."""
    return Vocabulary(code)


def strip_accents(word: str) -> str:
    """Return a word in Latin letters without its accents."""
    # "à" and "a", "né" and "ne" are different words.
    if word > "\u0250" or len(word) < SHORTEST_WITHOUT_ACCENTS:
        return word
    return "".join(letter for letter in normalize("NFD", word) if not combining(letter))
