"""The recall statement of a search, joined from the parts of `sql/recall.sql`.

`compose` is the algorithm, step by step; a `Shape` holds everything that changes the text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Literal, NamedTuple

from memsense.db.queries import Numbered, fill, fill_script, number_parameters
from memsense.errors import ConfigurationError
from memsense.search.profiles import ROUTES, VECTOR_ROUTES, Route
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.search.request import FILTER_NAMES, QUOTED
from memsense.store.conditions import (
    SCOPES,
    exchanges_condition,
    expiry_steps,
    is_bereft,
    is_shown,
    select_strict,
)
from memsense.store.past import as_past, past_lexemes, past_steps

NAME = "recall"
"""Comment at the beginning of the statement, which names it in PostgreSQL's views and logs."""

PARTITIONS: Mapping[Route, str] = MappingProxyType(
    {
        route: "user" if route == "vec_next_user" else route.split("_", 1)[1]
        for route in VECTOR_ROUTES
    }
)
"""Partition of the vectors that a route compares; the next user text is the next chunk's own."""


class Breadth(NamedTuple):
    """Breadth of an HNSW scan (hnsw.ef_search), in chunks for each chunk that its route returns.

    It is `share` in a memory of 100,000 chunks and grows as their number to the power `growth`.
    """

    share: float
    growth: float


# Whole texts lie closer together than their sides or facets, and need more: one breadth for all
# would cost the others more than half their time. Of the ten best hits, these breadths lose fewer
# than 2% from 5,000 to 100,000 chunks (docs/beside/benchmarks.md).
HNSW_BREADTH: Mapping[Route, Breadth] = MappingProxyType(
    {
        route: Breadth(3.0, 0.15) if route == "vec_full" else Breadth(2.0, 0.125)
        for route in VECTOR_ROUTES
    }
)
"""Breadth of each vector route's scan."""

# March is no misspelt match, "recreate" no compound of "create": short lexemes are near to many.
NEAR: Mapping[str, float] = MappingProxyType(
    {
        # Words of a question that are looked up among near lexemes, if the memory lacks them, and
        # lexemes that stand in for such a word.
        "near_words": 3,
        "near_lexemes": 8,
        # Shares of its idf that a near lexeme counts: one with another letter or with more letters
        # at an end, and one that the word begins or ends with.
        "near_share": 0.8,
        "part_share": 0.6,
        # Letters of the shortest word that may be misspelt, of the shortest part of a compound, and
        # of what remains of the compound.
        "near_letters": 6,
        "part_letters": 4,
        "rest_letters": 3,
    }
)
"""Parameters of the search for near lexemes."""

CONDITIONS = (*FILTER_NAMES, QUOTED)
"""Names of all conditions that a search may set, in the order of the statement."""


class Indexed(NamedTuple):
    """A user's memory with HNSW indexes for one model, and for a second one (`other`)."""

    scope_id: int
    model_id: int
    dimension: int
    other: tuple[int, int] | None = None


Whose = Literal["one_user", "all_users"] | Indexed


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Everything that changes the text of the recall statement; the rest are parameters.

    `filters` are names of conditions in `sql/filters.sql`. `optional` are the optional routes that
    run, `silent` the vector routes that are left out because they have no weight. `identified`:
    identifiers are a field of their own. `worded`: candidates report which patterns their text
    holds. `tokens`: the best candidates come with their tokens. `turns_only`: session chunks are
    left out. `one_list`: ranks are counted over turns and sessions together. `all_sessions`: a
    session that only its turns brought in takes part with its first session chunk. `superseding`:
    what superseded a candidate takes part, and what a candidate superseded. `rarest`: only the
    rarest words of the question are searched for, with "bm25f". `is_past`: memory is read as it
    stood at a moment. `hides_expired`: chunks that have expired and are not swept yet are left out;
    without it, none may have expired.
    `two_models`: vectors of two models are read, each text's of the one that compares its language;
    `of_other` is true only while the parts of the second are written.
    `lookups`: the GIN indexes are used through the functions of `sql/lookups.sql`, because
    row-level security keeps other statements from them.
    """

    whose: Whose = "one_user"
    lexical: Literal["bm25f", "ts_rank"] = "bm25f"
    filters: tuple[str, ...] = ()
    optional: tuple[Route, ...] = ()
    silent: tuple[Route, ...] = ()
    identified: bool = False
    worded: bool = False
    tokens: bool = False
    turns_only: bool = False
    one_list: bool = False
    all_sessions: bool = False
    superseding: bool = False
    rarest: bool = False
    is_past: bool = False
    hides_expired: bool = True
    lookups: bool = False
    two_models: bool = False
    of_other: bool = False

    @property
    def of_each_model(self) -> "tuple[Shape, ...]":
        """Return the shape as the parts of each model are written."""
        if not self.two_models:
            return (self,)
        whose = self.whose
        if self.indexed is not None and self.indexed.other is not None:
            whose = Indexed(self.indexed.scope_id, *self.indexed.other)
        return self, replace(self, whose=whose, of_other=True)

    @property
    def indexed(self) -> Indexed | None:
        """Return the memory whose HNSW indexes are used, None if the search is exact."""
        return self.whose if isinstance(self.whose, Indexed) else None

    @property
    def narrowed(self) -> tuple[str, ...]:
        """Return the filters whose chunks a function finds, from which the others are checked."""
        served = ("tags",) if self.whose == "all_users" else ("tags", "quoted")
        return tuple(name for name in served if self.lookups and name in self.filters)

    @property
    def routes(self) -> tuple[Route, ...]:
        """Return the routes in the statement."""
        always = (route for route in ROUTES if route not in OPTIONAL_ROUTES)
        runs = {*always, *self.optional} - {*self.silent}
        return tuple(route for route in ROUTES if route in runs)


@lru_cache(maxsize=192)
def recall_statement(shape: Shape) -> Numbered:
    """Return the statement as it is sent, with its parameters' names; each takes about 25 kB."""
    return number_parameters(recall_text(shape))


@lru_cache(maxsize=64)
def past_statement(shape: Shape) -> Numbered:
    """Return the statement that reads memory as it stood at a moment, as `recall_statement` does.

    Vectors are compared one by one and no graph is read, because indexes and the graph keep no
    past. Words are looked for in the chunks of then, which no index holds.
    """
    whose = "one_user" if shape.indexed else shape.whose
    optional = tuple(route for route in shape.optional if OPTIONAL_ROUTES[route].has_past)
    exact = replace(shape, whose=whose, optional=optional, lookups=False, is_past=True)
    steps: list[str] = []
    for step in compose(exact):
        steps.append(as_past(step))
        # The tables of then are CTEs of their own, which read the CTE scope.
        if step.startswith("scope AS"):
            steps += past_steps(SCOPES)
        elif step.startswith("question AS"):
            steps.append(past_lexemes())
    return number_parameters(_join(steps, exact))


def recall_text(shape: Shape) -> str:
    """Return the statement for people: with named parameters."""
    return _join(compose(shape), shape)


def _join(steps: Iterable[str], shape: Shape) -> str:
    tokens, and_tokens = "", ""
    if shape.tokens:
        tokens, and_tokens = ", " + _part("token_columns"), "\nCROSS JOIN tokens"
    others, and_others = "", ""
    if shape.two_models:
        others, and_others = ", other_embedded, other_embeddings", "\nCROSS JOIN other_vectors"
    answer = _part(
        "answer", others=others, and_others=and_others, tokens=tokens, and_tokens=and_tokens
    )
    return f"/* {NAME} */ WITH " + ",\n".join(steps) + "\n" + answer


def compose(shape: Shape) -> Iterator[str]:
    """Yield every CTE of the statement, in the order of computation."""
    for kind, names, choices in (
        ("filter", shape.filters, CONDITIONS),
        ("optional route", shape.optional, OPTIONAL_ROUTES),
        ("vector route", shape.silent, VECTOR_ROUTES),
    ):
        if unknown := set(names) - set(choices):
            raise ConfigurationError(
                f"there is no {kind} {', '.join(sorted(unknown))}; known: {', '.join(choices)}"
            )
    yield _part("scope", whose=_part(f"whose_{_scope_kind(shape)}"))
    yield _part("statistics", shape)
    yield _part("question")
    if shape.rarest:
        yield _part("rarest", shape)
    if shape.hides_expired:
        yield from expiry_steps(SCOPES)
    if shape.filters:
        yield from _filtered(shape)
    for of_model in shape.of_each_model:
        for route in VECTOR_ROUTES:
            if route not in shape.silent:
                yield _vector_route(route, of_model)
    yield from _words(shape)
    yield _part("lexical", shape, lists=_lists(shape, score="score"))
    for route in shape.optional:
        yield from OPTIONAL_ROUTES[route].steps(
            partial(_takes_part, shape), lookups=shape.lookups, cosines=partial(_cosines, shape)
        )
    # Fusion: every route's lists with its number and weight, and the ranks of all of them.
    is_single = _has_one_list(shape)
    columns = "turns, turn_scores" + ("" if is_single else ", sessions, session_scores")
    listed = _part("listed_turns" if is_single else "listed_both")
    lists = [
        _part(
            "route_lists",
            number=str(number),
            name=name,
            lists=columns,
            weight=f"%(weight_{route})s",
        )
        for number, route in enumerate(ROUTES, start=1)
        if route in shape.routes
        for name in _names(route, shape)
    ]
    yield _part("routes", lists="\nUNION ALL\n".join(lists))
    yield _part("ranked", listed=listed)
    name, fused = ("found", "best_scored") if shape.superseding else ("fused", "fused")
    if shape.superseding:
        yield _part("scored")
    if shape.all_sessions:
        yield _part(fused, name="best")
        yield _part("unfound", shape)
        yield _part("first_chunks", shape, takes_part=_takes_part(shape, "c.chunk_id"))
        yield _part("fused_with_sessions", name=name)
    else:
        yield _part(fused, name=name)
    if shape.superseding:
        yield _part(
            "superseding",
            shape,
            either_or="AND" if shape.is_past else "OR",
            older_takes_part=_takes_part(shape, "l.older_id"),
            newer_takes_part=_takes_part(shape, "l.chunk_id"),
        )
        yield _part("fused_with_superseding")
    yield _part("hits", listed=listed)
    # Candidates: everything that ranking needs of the chunks that fusion kept.
    chunks, worded, identified = ["memsense.chunks"], "NULL::jsonb", "NULL::jsonb"
    if shape.identified:
        chunks.append(_part("join_identified"))
        identified = _part("identified_payload")
    if shape.worded:
        chunks.append(_part("join_worded"))
        worded = _part("worded_payload")
    joined = "\n".join(chunks)
    yield _part("candidates", shape, chunks=joined, worded=worded, identified=identified)
    for of_model in shape.of_each_model:
        prefix = "other_" if of_model.of_other else ""
        and_answers = f"\n      AND {_answers(shape)}" if shape.two_models else ""
        yield _part("vectors", of_model, prefix=prefix, and_answers=and_answers)
    if shape.tokens:
        # The second model has no tokens, and the first one's say nothing of the texts it compares.
        compared = " WHERE chunk_id = ANY ((SELECT embedded FROM vectors)::bigint[])"
        yield _part("tokens", shape, compared=compared if shape.two_models else "")
    yield _state(shape)


def load_functions() -> str:
    """Return the SQL functions of recall's steps, which migrations make for psql, too."""
    everyone_or_one = "(recall_lexical.user_id IS NULL OR s.user_id = recall_lexical.user_id)"
    shape = Shape(whose="all_users")
    steps = [
        _part("scope", whose=everyone_or_one),
        _part("statistics", shape),
        _part("question"),
        *expiry_steps(SCOPES),
        *_bm25f("postings", shape),
    ]
    text = ",\n".join(steps)
    for parameter, argument in _FUNCTION_ARGUMENTS.items():
        text = text.replace(f"%({parameter})s", argument)
    return fill_script("termcounts.sql") + fill_script("functions.sql", steps=text)


_FUNCTION_ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "tenant_id": (
            "(SELECT t.tenant_id FROM memsense.tenants AS t WHERE t.name = recall_lexical.tenant)"
        ),
        "terms": "recall_lexical.question",
        **{name: str(value) for name, value in NEAR.items()},
        "granularities": (
            "string_to_array(coalesce(recall_lexical.granularity, 'turn,session'), ',')"
        ),
        "weight_lexical": "1",
        **{name: f"recall_lexical.{name}" for name in "namespace k1 b postings_budget".split()},
        **{
            f"weight_{field}": f"recall_lexical.weight_{field}"
            for field in ("user", "assistant", "context", "tag")
        },
    }
)


def _part(name: str, shape: Shape | None = None, /, **holes: str) -> str:
    """Return a part of recall.sql; a shape fills the holes that are the same in every part."""
    if shape is not None:
        holes |= {
            "in_scope": fill(f"in_scope_{_scope_kind(shape)}", "recall.sql"),
            "and_granularity": "" if shape.turns_only else ", granularity",
            "vector": "other_vector" if shape.of_other else "query_vector",
            "model": "%(other_model_id)s" if shape.of_other else "%(model_id)s",
            "and_mark": fill("mark", "recall.sql") if shape.two_models else "",
            "near": "other_near" if shape.of_other else "near",
            "question": "rarest" if shape.rarest else "question",
        }
    return fill(name, "recall.sql", **holes)


def _cosines(shape: Shape, step: str) -> str:
    """Return the query of the cosines of the chunks that a step found."""
    of_models = [
        _part("cosines", of_model, step=step, answers=_answers(shape))
        for of_model in shape.of_each_model
    ]
    return "\nUNION ALL\n".join(of_models)


def _names(route: Route, shape: Shape) -> tuple[str, ...]:
    """Return the names of a route's lists."""
    return (route, f"other_{route}") if shape.two_models and route in VECTOR_ROUTES else (route,)


def _answers(shape: Shape) -> str:
    """Return the condition that a vector's model is the one that compares the text."""
    return fill("answers", "recall.sql") if shape.two_models else "true"


def _scope_kind(shape: Shape) -> str:
    return "all_users" if shape.whose == "all_users" else "one_user"


def _filtered(shape: Shape) -> Iterator[str]:
    """Yield the steps that find the chunks which pass every filter."""
    conditions = [_is_shown(shape, "c.chunk_id")]
    if "tags" in shape.narrowed:
        yield _part("tagged")
    for name in CONDITIONS:
        if name == "tags" and name in shape.narrowed:
            conditions.append(_part("is_tagged"))
        elif name in shape.filters:
            conditions.append(fill(name, "filters.sql"))
    if QUOTED in shape.filters:
        yield _part("quoted")
        if "quoted" in shape.narrowed:
            yield _part("quoting")
            conditions.append(_part("is_quoting"))
        elif shape.whose != "all_users":
            # With several scopes, the condition would ask one chunk for the words in each of them.
            conditions.append(_part("holds_quoted_words"))
    if not shape.turns_only and select_strict(shape.filters):
        conditions.append(exchanges_condition(shape.filters))
    materialized = "NOT MATERIALIZED" if _looks_up(shape) else "MATERIALIZED"
    yield _part("filtered", shape, materialized=materialized, conditions=_all(conditions))
    yield _part("few")
    for of_model in shape.of_each_model:
        chosen = _all([_of_granularity(shape), _answers(shape)])
        yield _part("near", of_model, of_granularity=chosen)


def _of_granularity(shape: Shape) -> str:
    # If both granularities are read, the condition would cost a comparison a row and hide nothing.
    return "granularity = 'turn'" if shape.turns_only else "true"


def _looks_up(shape: Shape) -> bool:
    """Return whether a scan checks each of its chunks by itself, not in a hash of all that pass.

    An HNSW scan reads few rows, so that a check of each costs less than finding all that pass: 33
    ms against 583 in a memory of 100,000 chunks.
    """
    return shape.indexed is not None and not shape.narrowed


def _takes_part(shape: Shape, chunk: str) -> str:
    if not shape.filters:
        return _is_shown(shape, chunk)
    return _part("passes_looked_up" if _looks_up(shape) else "passes_hashed", chunk=chunk)


def _is_shown(shape: Shape, chunk: str) -> str:
    return is_shown(chunk) if shape.hides_expired else "true"


def _lists(shape: Shape, *, score: str) -> str:
    """Return the columns of a route: its chunks and their scores, best first, by granularity."""
    return _part("lists_of_turns" if _has_one_list(shape) else "lists_of_both", score=score)


def _has_one_list(shape: Shape) -> bool:
    """Return whether a route has one list, of turns alone or of both granularities."""
    return shape.turns_only or shape.one_list


def _vector_route(route: Route, shape: Shape) -> str:
    is_next = route == "vec_next_user"
    table = f"embeddings_{PARTITIONS[route]}"
    chunk = "previous_chunk_id" if is_next else "chunk_id"
    # `near` has vectors under their own chunks, the next user text is found by the chunk before: an
    # exact scan filters it as it is.
    looks_up_few = bool(shape.filters) and (not is_next or shape.indexed is not None)
    conditions = [
        "previous_chunk_id IS NOT NULL" if is_next else "true",
        # Only whole texts are stored for session chunks: the other partitions hold turns alone.
        _of_granularity(shape) if route == "vec_full" else "true",
        _answers(shape),
        _takes_part(shape, f"{table}.{chunk}"),
        _is_shown(shape, f"{table}.chunk_id") if is_next else "true",
        "NOT (SELECT are_few FROM few)" if looks_up_few else "true",
    ]
    holes = {
        "chunk": chunk,
        "table": table,
        "part": f"'{PARTITIONS[route]}'",
        "takes_part": _all(conditions),
    }
    if shape.indexed is not None:
        # A partial index serves a query only if its predicate is in the text as literals.
        holes["scope_id"] = str(shape.indexed.scope_id)
        holes["model_id"] = str(shape.indexed.model_id)
        holes["dimension"] = str(shape.indexed.dimension)
        share, growth = map(str, HNSW_BREADTH[route])
        holes["ef_search"] = _part("ef_search", share=share, growth=growth)
    nearest = _part("scan_exact" if shape.indexed is None else "scan_indexed", shape, **holes)
    if looks_up_few:
        if is_next:
            is_visible = _all([_is_shown(shape, f"{table}.chunk_id"), _answers(shape)])
            nearest = _part("unless_few_next", shape, scan=nearest, is_shown=is_visible, **holes)
        else:
            nearest = _part("unless_few", shape, scan=nearest, **holes)
    if shape.indexed is not None:
        nearest = _part("in_order", shape, scan=nearest)
    name = _names(route, shape)[shape.of_other]
    return _part("vector_route", name=name, lists=_lists(shape, score="-distance"), nearest=nearest)


def _all(conditions: Sequence[str]) -> str:
    return "\nAND ".join(item for item in conditions if item != "true") or "true"


def _words(shape: Shape) -> Iterator[str]:
    """Yield the steps that score the chunks by words of the question and by identifiers."""
    way = "_looked_up" if shape.lookups else ""
    if shape.lexical == "bm25f":
        yield from _bm25f(f"postings{way}", shape)
    else:
        yield _part(f"words_by_ts_rank{way}", shape, takes_part=_takes_part(shape, "c.chunk_id"))
    if shape.identified:
        yield _part("identifiers")
        yield _part(f"identifier_matches{way}", shape, of_granularity=_of_granularity(shape))
        yield _part("identifier_weights")
        yield _part("identified", takes_part=_takes_part(shape, "m.chunk_id"))
    if shape.lexical == "bm25f":
        ceiling = _part("ceiling_of_identifiers") if shape.identified else "0"
        yield _part("ceiling", of_identifiers=ceiling)
    yield _part("matched_or_identified" if shape.identified else "matched", shape)


def _bm25f(postings: str, shape: Shape) -> Iterator[str]:
    steps = ["known", "unknown", "nearby"] if _has_near(shape) else ["known"]
    for step in steps:
        # A memory has one row of a lexeme: to add them up would cost each search for nothing.
        is_summed = shape.whose == "all_users" and step != "unknown"
        total = "sum(document_frequency)" if is_summed else "document_frequency"
        grouped = _part(f"{step}_of_all_users") if is_summed else ""
        yield _part(step, shape, document_frequency=total, grouped=grouped)
    yield _part("terms", shape, and_nearby=_part("and_nearby") if _has_near(shape) else "")
    yield _part("drivers")
    yield _part(postings, shape, takes_part=_takes_part(shape, "c.chunk_id"))
    bereft = is_bereft("postings.chunk_id") if shape.hides_expired else "false"
    yield _part("frequencies", shape, is_bereft=bereft)
    yield _part("words", shape)


def _has_near(shape: Shape) -> bool:
    """Return whether near lexemes stand in for unknown words; the past has no index of them."""
    return shape.lexical == "bm25f" and not shape.is_past


def _state(shape: Shape) -> str:
    """Return the step that reports the state of the memory with the candidates."""
    # A statement that takes for granted that nothing has expired reports whether that is so: if
    # not, the search is run again.
    expired = "fact_lapsed" if shape.hides_expired else "fact_lapsed_unasked"
    terms = _part("asked_or_near", shape) if _has_near(shape) else _part("asked", shape)
    languages = _part(f"languages_of_{_scope_kind(shape)}")
    facts = [_part("facts", shape, asked=terms, languages=languages), _part(expired, shape)]
    if shape.whose != "all_users":
        facts.append(_part("facts_of_one_user", shape))
    if shape.rarest:
        facts.append(_part("fact_left_out"))
    if shape.lexical == "bm25f":
        facts.append(_part("fact_ceiling"))
    if not shape.turns_only:
        facts.append(_part("fact_stale", shape))
    if shape.superseding:
        facts.append(_part("fact_superseding"))
    facts += [OPTIONAL_ROUTES[it].fact(partial(_takes_part, shape)) for it in shape.optional]
    return _part("state", facts=",\n".join(filter(None, facts)))
