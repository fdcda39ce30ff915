"""Second computation of recall in plain Python, from the chunks' texts only: BM25F, cosines,
fusion.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from embedders import HashingEmbedder

from memsense.search.profiles import Profile, Route
from memsense.text.lexemes import ask_lexemes, index_lexemes

FIELDS = ("user", "assistant", "tag", "context")

Scores = dict[Route, dict[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A chunk of the reference: the lexemes and words of each field, and the texts to embed."""

    chunk_id: int
    granularity: str
    fields: Mapping[str, Counter[str]]
    lengths: Mapping[str, int]
    texts: Mapping[Route, str]


def read_documents(conn: psycopg.Connection[Any]) -> list[Document]:
    """Return the active chunks, with their neighbours computed again."""
    rows = conn.execute(
        "SELECT chunk_id, granularity, session_id, user_text, assistant_text, session_text,"
        " concat_ws(' ', task_tag, array_to_string(tags, ' ')), personal_info, preferences, events"
        " FROM memsense.chunks WHERE status = 'active'"
        " ORDER BY granularity, session_id, ordinal, part"
    ).fetchall()
    around = [None, *rows, None]
    return [
        _document(conn, row, _beside(row, before), _beside(row, after))
        for before, row, after in zip(around, rows, around[2:], strict=False)
    ]


def _beside(row: Sequence[Any], other: Sequence[Any] | None) -> Sequence[Any] | None:
    same = other is not None and other[1:3] == row[1:3] and row[1] == "turn"
    return other if same else None


def _document(
    conn: psycopg.Connection[Any],
    row: Sequence[Any],
    before: Sequence[Any] | None,
    after: Sequence[Any] | None,
) -> Document:
    chunk_id, granularity, _, user, assistant, session, tags, personal, preferences, events = row
    context = [text[-200:] for text in before[3:5]] if before else []
    context += [text[:200] for text in after[3:5]] if after else []
    fields = {
        "user": session or user,
        "assistant": assistant,
        "tag": tags,
        "context": "\n".join(context),
    }
    texts: dict[Route, str | None] = {
        "vec_full": session or "\n".join(text for text in (user, assistant) if text),
        "vec_user": user,
        "vec_assistant": assistant,
        "vec_next_user": after[3] if after else None,
        "facet_personal_info": personal,
        "facet_preferences": preferences,
        "facet_events": events,
    }
    return Document(
        chunk_id=chunk_id,
        granularity=granularity,
        fields={name: lexemes_of(conn, text) for name, text in fields.items()},
        lengths={name: _count_places(conn, text) for name, text in fields.items()},
        texts={route: text for route, text in texts.items() if text},
    )


def lexemes_of(conn: psycopg.Connection[Any], text: str) -> Counter[str]:
    """Count each lexeme of an English text."""
    rows = conn.execute(
        "SELECT lexeme, cardinality(positions) FROM unnest(%s::tsvector)",
        [index_lexemes(text, "en")],
    ).fetchall()
    return Counter(dict(rows))


def _count_places(conn: psycopg.Connection[Any], text: str) -> int:
    """Count the words of an English text; a compound is at the place of its last part."""
    row = conn.execute(
        "SELECT count(DISTINCT place)"
        " FROM unnest(%s::tsvector) CROSS JOIN unnest(positions) AS place",
        [index_lexemes(text, "en")],
    ).fetchone()
    assert row is not None
    return row[0]


def words_of(conn: psycopg.Connection[Any], question: str) -> list[list[str]]:
    """Return the words of an English question, each with its spellings."""
    rows = conn.execute(
        "SELECT array_agg(lexeme) FROM unnest(%s::tsvector) GROUP BY positions",
        [ask_lexemes(question, "en", ())],
    ).fetchall()
    return [spellings for (spellings,) in rows]


def score_bm25f(
    documents: Sequence[Document], words: Iterable[Collection[str]], profile: Profile
) -> dict[int, float]:
    """Return the BM25F score of each document with one of the question's words, by chunk id.

    Of a word's spellings the best one counts.
    """
    scores: dict[int, float] = {}
    for granularity in ("turn", "session"):
        group = [item for item in documents if item.granularity == granularity]
        if group:
            scores |= _score_group(group, words, profile)
    return {chunk_id: score for chunk_id, score in scores.items() if score > 0}


def _score_group(
    group: Sequence[Document], words: Iterable[Collection[str]], profile: Profile
) -> dict[int, float]:
    average = {
        field: max(sum(item.lengths[field] for item in group) / len(group), 1.0) for field in FIELDS
    }
    users = sum(item.lengths["user"] for item in group)
    assistants = sum(item.lengths["assistant"] for item in group)
    ratio = min(max(math.sqrt(users / assistants), 0.2), 1.0) if assistants else 1.0
    weights = {
        "user": profile.weight_user,
        "assistant": profile.weight_assistant * ratio,
        "tag": profile.weight_tag,
        "context": profile.weight_context * ratio,
    }
    scores: Counter[int] = Counter()
    for spellings in words:
        best: dict[int, float] = {}
        for lexeme in spellings:
            df = sum(any(item.fields[f][lexeme] for f in FIELDS[:3]) for item in group)
            idf = math.log(1 + (len(group) - df + 0.5) / (df + 0.5))
            for item in group:
                tf = sum(
                    weights[field]
                    * item.fields[field][lexeme]
                    / (1 - profile.b + profile.b * item.lengths[field] / average[field])
                    for field in FIELDS
                    if item.fields[field][lexeme]
                )
                if df:
                    score = idf * (profile.k1 + 1) * tf / (tf + profile.k1)
                    best[item.chunk_id] = max(best.get(item.chunk_id, 0.0), score)
        scores.update(best)  # pyright: ignore[reportArgumentType]
    return dict(scores)


def score_cosine(
    documents: Sequence[Document], route: Route, embedder: HashingEmbedder, question: str
) -> dict[int, float]:
    """Return inner products of halfvec-rounded vectors, for each document that has the text."""
    asked = _halved(embedder.embed_query(question))
    return {
        item.chunk_id: float(_halved(embedder.embed_query(item.texts[route])) @ asked)
        for item in documents
        if route in item.texts
    }


def _halved(vector: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return vector.astype(np.float16).astype(np.float64)


def rank(documents: Sequence[Document], scores: Mapping[int, float], granularity: str) -> list[int]:
    """Return the ids of a granularity's chunks with a score, best first, ties by id."""
    ids = [item.chunk_id for item in documents if item.granularity == granularity]
    return sorted((i for i in ids if i in scores), key=lambda i: (-scores[i], i))
