"""Words by which languages name times, a table for each language."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memsense.search.question.time.tables.table import Table

TABLES = ("en", "de", "fr", "es", "ru")
"""Languages that are written with blanks; Chinese and Japanese share the table `cjk`."""


@cache
def load_table(code: str) -> "Table":
    """Return the table of a language, whose module is imported with the first question."""
    return import_module(f"{__name__}.{code}").TABLE
