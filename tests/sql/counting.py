"""Second count of the statistics that the write path keeps by addition and subtraction."""

from collections import Counter
from typing import Any

import psycopg

from memsense.text.lexemes import index_lexemes

FIELDS: tuple[str, ...] = ("user_length", "assistant_length", "tag_length", "context_length")

Statistics = dict[tuple[int, str], dict[str, int]]
Frequencies = dict[tuple[int, str, str], int]


def kept_statistics(conn: psycopg.Connection[Any]) -> Statistics:
    """Return scope_statistics as stored, without rows of zeros."""
    rows = conn.execute(
        "SELECT scope_id, granularity, chunk_count, user_length, assistant_length, tag_length,"
        " context_length FROM memsense.scope_statistics"
    ).fetchall()
    found = {
        (scope, granularity): dict(zip(("chunk_count", *FIELDS), map(int, counts), strict=True))
        for scope, granularity, *counts in rows
    }
    return {key: counts for key, counts in found.items() if any(counts.values())}


def kept_frequencies(conn: psycopg.Connection[Any]) -> Frequencies:
    """Return the document frequencies as stored."""
    rows = conn.execute(
        "SELECT scope_id, granularity, lexeme, document_frequency FROM memsense.lexemes"
    ).fetchall()
    return {(scope, granularity, lexeme): df for scope, granularity, lexeme, df in rows}


def recount(conn: psycopg.Connection[Any]) -> tuple[Statistics, Frequencies]:
    """Count both again from the texts of the active chunks."""
    statistics: dict[tuple[int, str], Counter[str]] = {}
    frequencies: Counter[tuple[int, str, str]] = Counter()
    rows = conn.execute(
        "SELECT scope_id, granularity, session_text || user_text, assistant_text,"
        " concat_ws(' ', task_tag, array_to_string(tags, ' ')), context, language,"
        " ARRAY[user_length, assistant_length, tag_length, context_length],"
        " tsvector_to_array(ts_filter(tsv, '{a,b,c}'))"
        " FROM memsense.chunks WHERE status = 'active'"
    ).fetchall()
    for scope, granularity, *texts, language, lengths, lexemes in rows:
        counts = statistics.setdefault((scope, granularity), Counter())
        counts["chunk_count"] += 1
        if language is None:  # an entry of version 1
            counts.update(dict(zip(FIELDS, lengths, strict=True)))
            frequencies.update((scope, granularity, lexeme) for lexeme in lexemes)
            continue
        own: set[str] = set()
        for field, text in zip(FIELDS, texts, strict=True):
            places: dict[str, list[int]] = dict(
                conn.execute(
                    "SELECT lexeme, positions FROM unnest(%s::tsvector)",
                    [index_lexemes(text, language)],
                ).fetchall()
            )
            counts[field] += len({place for found in places.values() for place in found})
            own |= set(places) if field != "context_length" else set()
        frequencies.update((scope, granularity, lexeme) for lexeme in own)
    full = {
        key: {name: counts[name] for name in ("chunk_count", *FIELDS)}
        for key, counts in statistics.items()
    }
    return full, dict(frequencies)


def assert_counted(conn: psycopg.Connection[Any]) -> None:
    """Fail unless the stored counts equal the recount, and links point to the neighbours."""
    statistics, frequencies = recount(conn)
    assert kept_statistics(conn) == statistics
    assert kept_frequencies(conn) == frequencies
    assert conn.execute("SELECT * FROM memsense.pending_embeddings").fetchall() == []
    assert misplaced_embeddings(conn) == []
    assert stale_links(conn) == []


def stale_links(conn: psycopg.Connection[Any]) -> list[int]:
    """Return active turns whose next-user text or context doesn't match their neighbours."""
    rows = conn.execute(
        "SELECT chunk_id, scope_id, session_id, substr(user_text, opening_length + 1),"
        " assistant_text, next_user_text, context"
        " FROM memsense.chunks WHERE status = 'active' AND granularity = 'turn'"
        " ORDER BY scope_id, session_id, ordinal, part"
    ).fetchall()
    stale: list[int] = []
    padded = [None, *rows, None]
    for row, *beside in zip(rows, padded, padded[2:], strict=False):
        before, after = (other if other and other[1:3] == row[1:3] else None for other in beside)
        pieces = [text[-200:] for text in before[3:5]] if before else []
        pieces += [text[:200] for text in after[3:5]] if after else []
        next_user_text = (after[3] or None) if after else None
        if row[5:] != (next_user_text, "\n".join(filter(None, pieces))):
            stale.append(row[0])
    return stale


def misplaced_embeddings(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    """Return vectors of inactive chunks, and user vectors whose previous chunk is not the linked
    one.
    """
    return conn.execute(
        "SELECT e.chunk_id, e.route, c.status, e.previous_chunk_id, o.previous_chunk_id"
        " FROM memsense.embeddings AS e"
        " JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)"
        " JOIN memsense.chunk_overview AS o USING (tenant_id, scope_id, chunk_id)"
        " WHERE c.status <> 'active'"
        "  OR (e.route = 'user' AND c.granularity = 'turn'"
        "      AND e.previous_chunk_id IS DISTINCT FROM o.previous_chunk_id)"
    ).fetchall()
