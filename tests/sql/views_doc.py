"""Generator of docs/reference/views.md: each view and function with a query and its output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, cast

import psycopg

from memsense import MemSense, Profile, acting_as

INTRODUCTION = """\
# Views and functions for debugging

The views and functions of the schema `memsense` show all tenants, so filter by `tenant`,
`namespace` and `user_id`. `\\d+ memsense.recall_explain` describes the columns, too. Searches are
recorded with `search(..., trace=True)`, `memsense search --trace`, or for a share of all searches
by `MEMSENSE_TRACE_SAMPLE`.

These columns are described here alone, for every view that has them; others at the first view:
"""


@dataclass(frozen=True)
class Shown:
    """A view or function, its purpose, and a query, which the page shows if it has its output."""

    name: str
    purpose: str
    query: str
    has_output: bool = False


SHOWN = (
    Shown(
        "recall_explain",
        "Why was this returned?",
        "SELECT hit_rank, chunk_id, route, route_rank, round(raw_score::numeric, 3) AS raw_score,\n"
        "       weight, round(contribution::numeric, 4) AS contribution\n"
        "FROM memsense.recall_explain\n"
        "WHERE question = 'Where did Ada move?' AND hit_rank <= 2\n"
        "ORDER BY hit_rank, contribution DESC, route;",
        has_output=True,
    ),
    Shown(
        "superseded_facts",
        "Which facts have changed?",
        "SELECT older_id, newer_id, left(older_text, 40) AS older_text,\n"
        "       left(newer_text, 40) AS newer_text, state, reason\n"
        "FROM memsense.superseded_facts\n"
        "WHERE user_id = 'cleo'\n"
        "ORDER BY older_id;",
        has_output=True,
    ),
    Shown(
        "recall_candidates",
        "Why was that not returned?",
        "SELECT position, chunk_id, round(final_score::numeric, 4) AS final_score, hit_rank,\n"
        "       dropped_by, lost_to\n"
        "FROM memsense.recall_candidates\n"
        "WHERE question = 'Where did Ada move?'\n"
        "ORDER BY position\n"
        "LIMIT 2;",
        has_output=True,
    ),
    Shown(
        "trace_candidates",
        "What does a trace hold?",
        "SELECT position, chunk_id, routes, ranks, round(base_score::numeric, 4) AS base_score,\n"
        "       round(turn_support::numeric, 4) AS turn_support, dropped_by\n"
        "FROM memsense.trace_candidates\n"
        "WHERE trace_id = (SELECT trace_id FROM memsense.traces\n"
        "                  WHERE question = 'Where did Ada move?')\n"
        "ORDER BY position\n"
        "LIMIT 2;",
    ),
    Shown(
        "route_contribution",
        "Is a route worth its time?",
        "SELECT profile_name, route, hits, hits_found, hits_it_alone_found,\n"
        "       round(share_of_score::numeric, 3) AS share_of_score\n"
        "FROM memsense.route_contribution\n"
        "ORDER BY profile_name, share_of_score DESC, route;",
        has_output=True,
    ),
    Shown(
        "recall_latency",
        "Which phase takes the time?",
        "SELECT namespace, profile_name, searches, total_p95 >= total_p50 AS ordered,\n"
        "       recall_p50 > 0 AS measured\n"
        "FROM memsense.recall_latency\n"
        "ORDER BY profile_name;",
    ),
    Shown(
        "never_recalled",
        "Which chunks has no search ever returned?",
        "SELECT user_id, chunk_id, granularity, session_id, times_candidate, best_position\n"
        "FROM memsense.never_recalled\n"
        "ORDER BY times_candidate DESC, chunk_id\n"
        "LIMIT 3;",
    ),
    Shown(
        "duplicate_chunks",
        "What is stored more than once?",
        "SELECT user_id, chunk_id, duplicate_id, round(cosine::numeric, 3) AS cosine,\n"
        "       same_session, same_text\n"
        "FROM memsense.duplicate_chunks\n"
        "WHERE user_id = 'ada' AND granularity = 'turn'\n"
        "ORDER BY chunk_id, duplicate_id;",
    ),
    Shown(
        "embedding_versions",
        "Which models do the vectors come from?",
        "SELECT model, dimension, route, vectors, is_current, wrong_width\n"
        "FROM memsense.embedding_versions\n"
        "ORDER BY route\n"
        "LIMIT 2;",
    ),
    Shown(
        "index_health",
        "Are the indexes there and usable?",
        "SELECT index_name, method, is_unique, is_usable\n"
        "FROM memsense.index_health\n"
        "WHERE table_name = 'chunks'\n"
        "ORDER BY index_name\n"
        "LIMIT 2;",
    ),
    Shown(
        "audit",
        "Who changed what?",
        "SELECT recorded_at > now() - interval '1 day' AS today, actor, kind, count(*) AS events\n"
        "FROM memsense.audit\n"
        "WHERE user_id = 'ada'\n"
        "GROUP BY 1, 2, 3\n"
        "ORDER BY events DESC, kind;",
    ),
    Shown(
        "lexeme_stats",
        "How much weight has a word?",
        "SELECT lexeme, document_frequency, chunk_count, round(idf::numeric, 4) AS idf\n"
        "FROM memsense.lexeme_stats\n"
        "WHERE user_id = 'ada' AND granularity = 'turn'\n"
        "ORDER BY document_frequency DESC, lexeme\n"
        "LIMIT 3;",
    ),
    Shown(
        "recall_routes",
        "Which routes can find a chunk?",
        "SELECT chunk_id, granularity, string_agg(route, ', ' ORDER BY route) AS routes\n"
        "FROM memsense.recall_routes\n"
        "WHERE user_id = 'ben'\n"
        "GROUP BY chunk_id, granularity\n"
        "ORDER BY chunk_id;",
    ),
    Shown(
        "chunk_overview",
        "What is in a memory?",
        "SELECT chunk_id, session_id, status, left(content, 40) AS content, next_chunk_id\n"
        "FROM memsense.chunk_overview\n"
        "WHERE user_id = 'ada' AND granularity = 'turn'\n"
        "ORDER BY chunk_id\n"
        "LIMIT 2;",
    ),
    Shown(
        "session_timeline",
        "When did each session take place?",
        "SELECT user_id, session_id, first_at::date AS day, turns, session_chunks, inactive\n"
        "FROM memsense.session_timeline\n"
        "ORDER BY first_at, session_id\n"
        "LIMIT 2;",
        has_output=True,
    ),
    Shown(
        "route_coverage",
        "How much of a memory can each route find?",
        "SELECT route, chunks, chunks_with_route, share\n"
        "FROM memsense.route_coverage\n"
        "WHERE user_id = 'ada' AND granularity = 'turn'\n"
        "ORDER BY share DESC, route\n"
        "LIMIT 3;",
    ),
    Shown(
        "pending_embeddings",
        "Which chunks lack a vector, for now or for good?",
        "SELECT user_id, chunk_id, route FROM memsense.pending_embeddings;",
    ),
)

FUNCTIONS = (
    Shown(
        "explain(uuid)",
        "The whole arithmetic of a recorded search.",
        "SELECT part, round(value::numeric, 4) AS value,\n"
        "       round(running_total::numeric, 4) AS total\n"
        "FROM memsense.explain((SELECT trace_id FROM memsense.traces\n"
        "                       WHERE question = 'Where did Ada move?'))\n"
        "WHERE hit_rank = 1;",
        has_output=True,
    ),
    Shown(
        "recall_lexical(tenant, namespace, user_id, question, ...)",
        "The lexical route alone; no vector is needed. `memsense sql lexemes` prints a question's"
        " lexemes.",
        "SELECT rank, chunk_id, kind, round(score::numeric, 4) AS score\n"
        "FROM memsense.recall_lexical('default', 'default', 'ada', 'dog:1 vet:2', 4);",
        has_output=True,
    ),
)

EXAMPLE = Profile(
    name="example", weights={"vec_full": 1, "vec_user": 0.5, "vec_assistant": 0.5, "lexical": 2}
)
WORDS = Profile(name="words", weights={"lexical": 1})

SAID = {
    ("ada", "monday"): [
        ("I moved to Lisbon last spring.", "How do you like Lisbon?"),
        ("I love the river and the trams.", "The trams are old."),
    ],
    ("ada", "tuesday"): [
        ("My dog Rex needs a vet.", "There is a vet near the river."),
        ("Which vet is open on Sunday?", "None that I know of."),
    ],
    ("ada", "friday"): [("My dog Rex needs a vet.", "There is a vet near the big river.")],
    ("ben", "monday"): [("I bake bread on Sunday.", "Which flour do you use?")],
    ("cleo", "monday"): [("I drive a red Volvo to work.", "How old is it?")],
    ("cleo", "friday"): [("I sold the Volvo and drive a Skoda now.", "A good choice.")],
}


def fill(memory: MemSense) -> None:
    """Fill the store of the examples."""
    start = datetime(2026, 5, 4, 9, tzinfo=UTC)
    for number, ((user_id, session_id), exchanges) in enumerate(SAID.items()):
        messages: list[dict[str, Any]] = []
        for turn, sides in enumerate(exchanges):
            at = start + timedelta(days=number, minutes=turn)
            messages += [
                {"role": role, "content": text, "at": at}
                for role, text in zip(("user", "assistant"), sides, strict=True)
            ]
        with acting_as("hook:codex"):
            memory.add(messages, user_id=user_id, session_id=session_id, mode="hybrid")
        with acting_as("cli:ada"):
            memory.indexes.make_sessions()
    newer, older = memory.recent(user_id="cleo")
    memory.decide_change(older.chunk_id, newer.chunk_id, "set", reason="she has sold it")
    asked: dict[str, Any] = {"granularity": "session", "top_k": 2, "asked_at": start}
    for question, profile in (("Where did Ada move?", EXAMPLE), ("the dog", WORDS)):
        memory.search(question, user_id="ada", profile=profile, trace=True, **asked)
    memory.traces.flush()


SHARED = {
    "tenant": "Name of the tenant.",
    "tenant_id": "Number of the tenant, the first column of every key.",
    "namespace": "Namespace within the tenant.",
    "scope_id": "Number of the scope: tenant, namespace and user.",
    "user_id": "The user whose memory it is, or was searched; null for a search of all users.",
    "session_id": "The session that the chunk belongs to.",
    "chunk_id": "The chunk.",
    "granularity": "turn or session, of the chunk.",
    "trace_id": "The recorded search.",
    "question": "The question of the search.",
    "recorded_at": "When the search or the change was recorded.",
}
"""Columns of many views, which the page describes once."""


def render(connection: psycopg.Connection[Any]) -> str:
    """Return the whole document."""
    told = [INTRODUCTION, *_columns(SHARED), ""]
    known = set(SHARED)
    for shown in SHOWN:
        purpose, described = _comments(connection, shown.name)
        told += [f"## {shown.name}", "", f"**{shown.purpose}** {purpose}", ""]
        told += _example(connection, shown)
        lines = dict(zip(described, _columns(described), strict=True))
        own = [line for column, line in lines.items() if not {column, line} & known]
        told += [*own, ""] if own else []
        named = [f"`{it}`" for it, line in lines.items() if line in known and it not in SHARED]
        told += [f"Also {', '.join(named)}.", ""] if named else []
        known |= set(own)
    for shown in FUNCTIONS:
        told += [f"## {shown.name}", "", shown.purpose, "", *_example(connection, shown)]
    return "\n".join(told)


def _comments(connection: psycopg.Connection[Any], view: str) -> tuple[str, dict[str, str]]:
    """Return what the database says of a view and of its columns."""
    cursor = connection.execute(
        "SELECT a.attname, col_description(c.oid, a.attnum), obj_description(c.oid)"
        " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE c.oid = to_regclass('memsense.' || %s) ORDER BY a.attnum",
        [view],
    )
    rows = cursor.fetchall()
    return rows[0][2], {column: comment for column, comment, _ in rows}


def _columns(described: Mapping[str, str]) -> list[str]:
    return [f"- `{column}`: {comment}" for column, comment in described.items()]


def _example(connection: psycopg.Connection[Any], shown: Shown) -> list[str]:
    cursor = connection.execute(cast("LiteralString", shown.query))
    headings = [column.name for column in cursor.description or ()]
    rows = [[_cell(value) for value in row] for row in cursor]
    if not shown.has_output:  # the query has run, but the columns say enough to a reader
        return []
    return ["```sql", shown.query, "```", "", "```text", *_table(headings, rows), "```", ""]


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    return "" if value is None else str(value).replace("\n", "⏎ ")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *rows)
    ]
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return [lines[0], "-+-".join("-" * width for width in widths), *lines[1:], f"({count})"]
