"""Folds the blanks of a question, so that none of its length is spent on them."""

import re

_RUN = re.compile(r"\s+")


def fold_blanks(text: str) -> str:
    r"""The text with one blank for each run of them, a line break where one is among them.

        fold_blanks("  What did\n\n Ann   buy? ")  # "What did\nAnn buy?"

    A line break may end a sentence, which matters to names. None is left at the ends.
    """
    return _RUN.sub(_folded, text).strip()


def _folded(run: re.Match[str]) -> str:
    return "\n" if "\n" in run[0] else " "
