"""The recall statement as of a moment: its own steps, over tables as they stood."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from memsense.db.queries import Numbered, number_parameters
from memsense.search.recall.statement import NAME, Shape, answer_of, compose
from memsense.store.conditions import SCOPES
from memsense.store.past import as_past, past_lexemes, past_steps


@lru_cache(maxsize=64)
def past_statement(shape: Shape) -> Numbered:
    """The statement as it is sent, and its parameters' names.

    Vectors are compared one by one, and no optional route runs: of neither is a past kept. Words
    are looked for in the chunks of then, which no index holds.
    """
    whose = "one_user" if shape.indexed else shape.whose
    exact = replace(shape, whose=whose, optional=(), lookups=False)
    text = f"/* {NAME} */ WITH " + ",\n".join(_steps(exact)) + "\n" + answer_of(exact)
    return number_parameters(text)


def _steps(shape: Shape) -> Iterator[str]:
    for step in compose(shape):
        yield as_past(step)
        if step.startswith("scope AS"):
            yield from past_steps(SCOPES)
        elif step.startswith("question AS"):
            yield past_lexemes()
