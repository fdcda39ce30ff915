"""Counts of a lexeme in each field of a tsvector, read back from one call of ts_rank.

For a single lexeme, ts_rank is a weighted second-order harmonic sum over its positions
(PostgreSQL's tsrank.c). With a slightly different weight for each field, up to MOST_CODED
occurrences give a distinct value for every way to spread them over the fields; recall.sql looks
that value up in tables (`sql/termcounts.sql`). Above that, four calls count each field exactly.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

Counts = tuple[int, int, int, int]
"""Occurrences in the user's text, the assistant's text, the tags and the context."""

FIELD_WEIGHTS = (1.0, 0.9922, 0.9895, 0.9878)
"""Chosen by random search so that the coded values lie at least 2.8e-5 apart."""

MOST_CODED = 6
LARGEST_COUNT = 255
"""A tsvector keeps at most this many positions of one lexeme."""

# The limit of the sum of 1 / n², by which tsrank.c divides, with its own digits.
_LIMIT = 1.64493406685

_HEADER = """\
-- Made by `python -m tools.termcounts`, which says why; a test compares them. Recall calls these
-- functions; every migration creates them anew. PostgreSQL works each out once, when it plans.
"""


def rank_value(counts: Counts) -> float:
    """Return the value of ts_rank for a lexeme with these counts and FIELD_WEIGHTS."""
    weights = [
        weight for weight, count in zip(FIELD_WEIGHTS, counts, strict=True) for _ in range(count)
    ]
    if not weights:
        return 0.0
    total = sum(weight / place**2 for place, weight in enumerate(weights, start=1))
    return total / _LIMIT  # the weights fall, so the first position is also the heaviest


def coded_counts() -> Iterator[Counts]:
    """Yield every way to spread 1 to MOST_CODED occurrences over the four fields."""
    for total in range(1, MOST_CODED + 1):
        for user in range(total + 1):
            for assistant in range(total - user + 1):
                for tags in range(total - user - assistant + 1):
                    yield user, assistant, tags, total - user - assistant - tags


def sql_functions() -> str:
    """Return the text of `sql/termcounts.sql`: the tables as functions that recall calls.

    `width_bucket` over count_cuts gives the index into the counts_* arrays, or one more than their
    length; over harmonic_cuts it gives a count, if all counted fields have weight 1.
    """
    coded = sorted((rank_value(counts), counts) for counts in coded_counts())
    above = rank_value((0, 0, 0, MOST_CODED + 1))
    values = [0.0, *(value for value, _ in coded), above]
    # ts_rank returns float4: cuts halfway between the values leave room for its rounding.
    cuts = [(low + high) / 2 for low, high in pairwise(values)]
    harmonic = [0.0, *accumulate(1 / n**2 for n in range(1, LARGEST_COUNT + 1))]
    harmonic_cuts = [(low + high) / 2 / _LIMIT for low, high in pairwise(harmonic)]
    fields = ("user", "assistant", "tags", "context")
    functions = {
        "field_weights": _array(tuple(reversed(FIELD_WEIGHTS)), "float4"),
        "count_cuts": _array(cuts, "float8"),
        "count_codes": ("integer", str(len(coded))),
        **{
            f"counts_{name}": _array([counts[place] for _, counts in coded], "int2")
            for place, name in enumerate(fields)
        },
        "harmonic_cuts": _array(harmonic_cuts, "float8"),
    }
    return _HEADER + "".join(
        f"\nCREATE FUNCTION memsense.{name}() RETURNS {kind}\n"
        f"LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT {value} $$;\n"
        for name, (kind, value) in functions.items()
    )


def _array(values: Sequence[float], kind: str) -> tuple[str, str]:
    return f"{kind}[]", f"'{{{','.join(map(repr, values))}}}'::{kind}[]"


if __name__ == "__main__":
    sys.stdout.write(sql_functions())
