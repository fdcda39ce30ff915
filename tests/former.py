"""Memories whose index entries are of version 1, as PostgreSQL's parser made them in English."""

import re
from itertools import pairwise
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

INDEX = """
UPDATE memsense.chunks SET language = NULL, tsv = %(tsv)s::tsvector
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = %(row_id)s
"""

INDEX_PAST = """
UPDATE memsense.past_chunks SET chunk = chunk - 'language' || %(entry)s::jsonb
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND past_id = %(row_id)s
"""

TEXTS = (
    """
    SELECT tenant_id, scope_id, chunk_id, user_text || session_text FROM memsense.chunks
    WHERE status = 'active'
    """,
    """
    SELECT tenant_id, scope_id, past_id, chunk ->> 'user_text' FROM memsense.past_chunks
    WHERE chunk ->> 'tsv' IS NOT NULL
    """,
)

COUNT_FORMER = (
    """
    UPDATE memsense.chunks
    SET user_length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(tsv)),
        assistant_length = 0, tag_length = 0, context_length = 0
    WHERE status = 'active'
    """,
    "DELETE FROM memsense.lexemes",
    """
    INSERT INTO memsense.lexemes
    SELECT tenant_id, scope_id, granularity, lexeme, count(*)
    FROM memsense.chunks CROSS JOIN unnest(tsvector_to_array(tsv)) AS lexeme
    WHERE status = 'active'
    GROUP BY 1, 2, 3, 4
    """,
    "DELETE FROM memsense.scope_statistics",
    """
    INSERT INTO memsense.scope_statistics
        (tenant_id, scope_id, granularity, chunk_count, user_length, assistant_length, tag_length,
         context_length)
    SELECT tenant_id, scope_id, granularity, count(*), sum(user_length), 0, 0, 0
    FROM memsense.chunks WHERE status = 'active' GROUP BY 1, 2, 3
    """,
)

LEAVE_JOBS = (
    "UPDATE memsense.scopes SET lexemes_version = 1, languages = '{}'",
    """
    INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)
    SELECT tenant_id, namespace_id, 'relex', scope_id FROM memsense.scopes
    """,
)


def cut(text: str) -> str:
    """Return the text with Chinese, Japanese and Thai cut into pairs, as version 1 cut them."""
    return re.sub(
        "[\u3041-\u9fff]+|[\u0e01-\u0e4e]+",
        lambda run: f" {' '.join(first + second for first, second in pairwise(run[0]))} ",
        text,
    )


def make_former(connection: psycopg.Connection[Any]) -> None:
    """Give every memory entries of version 1, with a job that waits to make them again.

    The entries have the texts of users alone: no answers, tags and context.
    """
    for texts, index in zip(TEXTS, (INDEX, INDEX_PAST), strict=True):
        for tenant_id, scope_id, row_id, text in connection.execute(texts).fetchall():
            [tsv] = connection.execute(
                "SELECT setweight(to_tsvector('english', %s), 'A')::text", [cut(text)]
            ).fetchone() or [""]
            key = {"tenant_id": tenant_id, "scope_id": scope_id, "row_id": row_id}
            connection.execute(index, {**key, "tsv": tsv, "entry": Jsonb({"tsv": tsv})})
    for statement in (*COUNT_FORMER, *LEAVE_JOBS):
        connection.execute(statement)
