"""Words by which languages name times: a file of `memsense/data/words/times` for each language."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from memsense.search.question.time.interval import Grain
from memsense.search.question.time.patterns import pattern
from memsense.text.words import read_sections

TABLES = ("en", "de", "fr", "es", "ru")
"""Languages that are written with blanks; Chinese and Japanese share the table `cjk`."""

LAST_COMMON_ORDINAL = 3
_STEPS = {"L": -1, "l": -1, "B": -1, "m": -2, "P": 0, "X": 1, "x": 1, "C": 1}
_PARTS = r"[^\W\d_]+|\d+|-"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time; `factor` is 2 for a fortnight, `is_many` that its plural has no number."""

    name: str
    factor: int = 1
    is_many: bool = False

    @property
    def grain(self) -> Grain:
        """Return the grain of a time that is counted in this unit."""
        return "day" if self.name == "hour" else cast("Grain", self.name)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Words of a language that name times; memsense/data/words/times/README.md explains them."""

    months: str = ""
    weekdays: str
    short_weekdays: str = ""
    seasons: str
    units: str
    numbers: str = ""
    ordinals: str = ""
    vague: str
    roles: str
    named: str
    years: str = ""
    tonight: str
    next_days: str = ""
    recently: str
    feasts: str
    parts: str
    decades: str = ""
    counted: str = ""
    future: str
    past: str = ""
    habits: str
    common: str = ""
    shared: str = ""
    topicless: str
    month_leads: str = " "
    year_leads: str = ""
    season_leads: str = "e"
    quarter_leads: str = "esubqkyaft"
    decade_leads: str = "esubagZ"
    weekday_leads: str = " "
    weekend_leads: str = "efh"
    verbs: str = ""
    people: str = ""
    capital: str = ""
    month_first: bool = False
    cardinal_days: bool = False
    has_dotted_days: bool = False
    is_rolling: bool = False
    is_behind: bool = False

    def entries(self) -> Iterator[tuple[str, str, object]]:
        """Yield each form with its role and value; of two with one form the first counts."""
        yield from self.entries_of_times()
        for role, items in (("N", self.numbers), ("O", self.ordinals), ("w", self.next_days)):
            for key, form in read_list(items):
                yield form, role, int(key)
        for key, form in read_list(self.vague):
            least, _, most = key.partition("-")
            yield form, "V", (int(least), int(most))
        for part, form in read_list(self.parts):
            yield form, "g", part.replace("_", " ")
        for key, form in read_list(self.roles):
            yield form, key[0], int(key[1:]) if key[1:] else _STEPS.get(key)
        for form in read_forms(self.habits):
            yield form, "!", None

    def entries_of_times(self) -> Iterator[tuple[str, str, object]]:
        """Yield the forms of words of time; without one, only a number can name a time."""
        for role, items, first, step in (
            ("M", self.months, 1, 1),
            ("W", self.weekdays, 0, 1),
            ("v", self.short_weekdays, 0, 1),
            ("S", self.seasons, 3, 3),
        ):
            for key, form in read_list(items):
                yield form, role, first + step * (int(key) - 1)
        for role, items in (("R", self.named), ("=", self.years), ("i", self.decades)):
            for key, form in read_list(items):
                yield form, role, int(key)
        for role, forms in (("R", self.tonight), ("E", self.recently)):
            for form in read_forms(forms):
                yield form, role, None
        for name, form in read_list(self.feasts):
            yield form, "F", name
        for key, form in read_list(self.ordinals):
            # "First" and "second" are too common to show that a time is named.
            if int(key) > LAST_COMMON_ORDINAL:
                yield form, "O", int(key)
        for item in self.units.split():
            key, _, forms = item.replace("_", " ").partition("=")
            count, _, name = key.rpartition(" ")
            for is_many, part in enumerate(forms.split("/")):
                role = {"quarter": "K", "year": "U" if count or is_many else "J"}.get(name, "U")
                for form in read_forms(part):
                    yield form, role, Unit(name, int(count or 1), bool(is_many))


@cache
def load_table(code: str) -> Table:
    """Return the table of a language, whose file is read with the first question."""
    sections: dict[str, Any] = dict(read_sections(f"times/{code}"))
    sections |= dict.fromkeys(sections.pop("flags", "").split(), True)
    sections |= {
        name: text.replace("_", " ") for name, text in sections.items() if name.endswith("_leads")
    }
    return Table(**sections)


def read_list(items: str) -> Iterator[tuple[str, str]]:
    """Yield the forms of a list with the keys of their items."""
    for number, item in enumerate(items.split(), start=1):
        key, _, forms = item.rpartition("=")
        for form in read_forms(forms.replace("_", " ")):
            yield key or str(number), form


def read_forms(forms: str) -> Iterator[str]:
    """Yield the forms of a word."""
    for form in filter(None, forms.split("|")):
        stem, *ends = form.split("+")
        yield from (stem + end for end in ends or [""])


def split_form(form: str) -> tuple[str, ...]:
    """Return the words of a form, as the lexer splits them."""
    return tuple(pattern(_PARTS).findall(form))
