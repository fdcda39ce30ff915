"""Texts and vectors to fill stores with: real messages, recombined, with noised MiniLM vectors.

The messages are LoCoMo's when its file is at hand, else the bundled sample's. Each side of a chunk
is the beginning of one message and the end of another, and its vector lies between theirs, so that
any number of chunks has a vocabulary, facets and distances like real ones. (Noised copies of single
messages lie in tight heaps, which is harder on an HNSW index than memories are.)
"""

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsense.draft.chunking import exchange_hash
from memsense.draft.facets.model import FACETS, Facets
from memsense.draft.facets.tagger import RuleTagger
from memsense.embed import Embedder, OnnxEmbedder, Vectors
from memsense.graph.extraction.rules import RuleExtractor
from memsense.graph.upkeep import EntityUpkeep
from memsense.ingest import expand_paths, read_source
from memsense.ingest.report import ReadReport
from memsense.types import ChunkDraft, ExchangeDraft, SessionDraft

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "memsense" / "data" / "sample_conversation.jsonl"
SAMPLE_QUESTIONS = ROOT / "tests" / "data" / "sample_questions.jsonl"
LOCOMO = Path(os.environ.get("MEMSENSE_SHARED_DIR", ROOT.parent / "shared")) / "eval/locomo10.json"

SESSION_LENGTH = 20
"""Exchanges of a generated session."""

NOISE = 0.3
"""Length of the noise added to a unit vector: its cosine to the result is about 0.96."""

EXTRACTOR = RuleExtractor()
EMBEDDED = ("full", "user", "assistant", *FACETS)
LARGEST_BASE = 2500
QUESTIONS = 200
START = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Base messages and questions, each with its unit vector as a row: (n, 384) float32."""

    source: str
    messages: Sequence[str]
    vectors: Vectors
    facets: Sequence[Facets]
    questions: Sequence[str]
    question_vectors: Vectors


def load_corpus(embedder: Embedder | None = None) -> Corpus:
    """Read and embed the base messages and questions, of LoCoMo or of the sample."""
    embedder = embedder or OnnxEmbedder()
    path = LOCOMO if LOCOMO.exists() else SAMPLE
    messages = _messages(path)[:LARGEST_BASE]
    questions = _questions(path)[:QUESTIONS]
    tagger = RuleTagger()
    return Corpus(
        facets=[tagger.tag(message, "") for message in messages],
        source="LoCoMo" if path == LOCOMO else "the bundled sample",
        messages=messages,
        vectors=embedder.embed(messages),
        questions=questions,
        question_vectors=embedder.embed(questions),
    )


def _messages(path: Path) -> list[str]:
    texts = [
        message.text
        for source in expand_paths([str(path)], ReadReport())
        for conversation in read_source(source)
        for message in conversation.messages
        if message.text.strip()
    ]
    return list(dict.fromkeys(texts))


def _questions(path: Path) -> list[str]:
    if path == SAMPLE:
        lines = SAMPLE_QUESTIONS.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["question"] for line in lines]
    samples = json.loads(path.read_text(encoding="utf-8"))
    texts = [str(item["question"]) for sample in samples for item in sample["qa"]]
    return [texts[i] for i in np.linspace(0, len(texts) - 1, QUESTIONS).astype(int)]


@dataclass(slots=True)
class PreparedEmbedder:
    """Embedder with prepared vectors, so that a store's own cost can be timed."""

    model: str = "all-MiniLM-L6-v2-noised"
    dimension: int = 384
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict[str, NDArray[np.float32]])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the prepared vectors; any other text gets a random direction of its own."""
        vectors = [self.embed_query(text) for text in texts]
        return np.stack(vectors) if vectors else np.zeros((0, self.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the prepared vector of a question."""
        vector = self.known.get(text)
        return self._direction(text) if vector is None else vector

    def _direction(self, text: str) -> NDArray[np.float32]:
        # crc32, since Python's own hash of a text differs from process to process.
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        return _unit(rng.standard_normal(self.dimension, dtype=np.float32))


def question_embedder(corpus: Corpus) -> PreparedEmbedder:
    """Return an embedder with the vectors of the corpus's questions."""
    known = zip(corpus.questions, corpus.question_vectors, strict=True)
    return PreparedEmbedder(known=dict(known))


@dataclass(frozen=True, slots=True)
class PreparedSession:
    """Session to store, with the vector of each of its texts and the mentions of its turns."""

    draft: SessionDraft
    vectors: dict[str, NDArray[np.float32]]
    upkeep: EntityUpkeep

    def single_exchanges(self) -> "Iterator[PreparedSession]":
        """Return the same session, one exchange at a time."""
        for exchange in self.draft.exchanges:
            draft = replace(self.draft, exchanges=[exchange])
            yield PreparedSession(draft, self.vectors, self.upkeep)


def generate_sessions(
    corpus: Corpus, user_id: str, chunks: int, *, seed: int = 0, first: int = 0
) -> Iterator[PreparedSession]:
    """Yield sessions of SESSION_LENGTH exchanges, `chunks` in all, numbered from `first`."""
    # Seeded: two stores with the same arguments hold the same memories.
    rng = np.random.default_rng(seed)
    for start in range(0, chunks, SESSION_LENGTH):
        length = min(SESSION_LENGTH, chunks - start)
        yield _session(corpus, user_id, first + start // SESSION_LENGTH, length, rng)


def _session(
    corpus: Corpus, user_id: str, number: int, length: int, rng: np.random.Generator
) -> PreparedSession:
    session_id = f"s{number:06d}"
    picks = rng.integers(len(corpus.messages), size=(length, 2, 2))
    sides = _between(corpus.vectors[picks], rng)
    full = _noised(_unit(sides.sum(axis=1)), rng)
    others = corpus.vectors[rng.integers(len(corpus.messages), size=(length, len(FACETS)))]
    facets = _between(
        np.stack([np.repeat(sides, 2, axis=1)[:, : len(FACETS)], others], axis=2), rng
    )
    vectors: dict[str, NDArray[np.float32]] = {}
    exchanges: list[ExchangeDraft] = []
    for ordinal, pair in enumerate(picks.tolist()):
        chunk = _chunk(corpus, session_id, ordinal, pair, number * SESSION_LENGTH + ordinal)
        rows = [full[ordinal], *sides[ordinal], *facets[ordinal]]
        by_route: dict[str, NDArray[np.float32]] = dict(zip(EMBEDDED, rows, strict=True))
        vectors |= {text: by_route[route] for route, text in chunk.texts().items()}
        exchanges.append(ExchangeDraft(chunks=[chunk], messages=_ledger(session_id, ordinal)))
    draft = SessionDraft(
        user_id=user_id, session_id=session_id, exchanges=exchanges, mode="turn", format="bench"
    )
    return PreparedSession(draft, vectors, EntityUpkeep.of([draft], EXTRACTOR))


def _chunk(
    corpus: Corpus, session_id: str, ordinal: int, pair: Sequence[Sequence[int]], number: int
) -> ChunkDraft:
    user_text, assistant_text = (
        f"{_join(corpus.messages[begin], corpus.messages[end])} #{number}.{side}"
        for side, (begin, end) in enumerate(pair)
    )
    return ChunkDraft(
        granularity="turn",
        session_id=session_id,
        ordinal=ordinal,
        last_ordinal=ordinal,
        agent_id="bench",
        user_text=user_text,
        assistant_text=assistant_text,
        personal_info=_facet(corpus, "personal_info", pair, number),
        preferences=_facet(corpus, "preferences", pair, number),
        events=_facet(corpus, "events", pair, number),
        occurred_at=START + timedelta(minutes=5 * number),
        message_ids=(f"{session_id}-{ordinal}-u", f"{session_id}-{ordinal}-a"),
        source="bench",
        content_hash=exchange_hash(session_id, ordinal),
    )


def _join(begin: str, end: str) -> str:
    """Join the first half of one text and the second half of another, by words."""
    first, last = begin.split(), end.split()
    return " ".join([*first[: (len(first) + 1) // 2], *last[len(last) // 2 :]])


def _facet(corpus: Corpus, facet: str, pair: Sequence[Sequence[int]], number: int) -> str | None:
    facet_texts = (getattr(corpus.facets[begin], facet) for begin, _ in pair)
    text = next((text for text in facet_texts if text), None)
    return f"{text} #{number}.{facet}" if text else None


def _ledger(session_id: str, ordinal: int) -> dict[str, str]:
    return {f"{session_id}-{ordinal}-{side}": exchange_hash(ordinal, side) for side in "ua"}


def _between(pairs: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a noised vector between the two of each pair: (..., d) from (..., 2, d)."""
    share = 0.3 + 0.4 * rng.random((*pairs.shape[:-2], 1), dtype=np.float32)
    begin, end = pairs[..., 0, :], pairs[..., 1, :]
    return _noised(_unit((end + share * (begin - end)).astype(np.float32)), rng)


def _noised(
    vectors: NDArray[np.float32], rng: np.random.Generator, noise: float = NOISE
) -> NDArray[np.float32]:
    shape = vectors.shape
    return _unit(vectors + rng.standard_normal(shape, dtype=np.float32) * noise / shape[-1] ** 0.5)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True).astype(np.float32)
