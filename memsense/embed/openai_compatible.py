"""The embedder for any server with OpenAI's /embeddings endpoint, through the openai client."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memsense.config import hide_secrets, shown_url
from memsense.embed.base import Vectors, check_texts, check_vectors, normalise
from memsense.errors import ConfigurationError, EmbeddingError

if TYPE_CHECKING:
    from openai import OpenAI

NO_KEY = "none"


class OpenAIEmbedder:
    """Embeds texts by an OpenAI-compatible server: OpenAI, Ollama, vLLM, LM Studio and others.

        embedder = OpenAIEmbedder("nomic-embed-text", base_url="http://localhost:11434/v1")
        vectors = embedder.embed(["I moved to Lisbon."])

    Needs the extra `memsense[openai]`. A text that is longer than the model's limit is the server's
    to cut or to refuse. Safe to use from several threads.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        timeout: float = 30,
        max_retries: int = 3,
        batch_size: int = 128,
    ) -> None:
        """Set up the client; nothing is sent yet.

        Without `base_url` the client's own environment variables hold (OPENAI_BASE_URL,
        OPENAI_API_KEY); with it, only `api_key` is ever sent there. `dimension` is checked against
        each answer; without it the first answer decides. `timeout` is seconds per attempt;
        429, 408, 409, 5xx and lost connections are tried again up to `max_retries` times.
        Raises ConfigurationError if a setting is unusable or the openai package is missing.
        """
        if batch_size < 1:
            raise ConfigurationError(f"batch_size must be at least 1, not {batch_size}")
        self.model = model
        self._dimension = dimension
        self._batch_size = batch_size
        self._client = _open_client(
            base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries
        )

    @property
    def dimension(self) -> int:
        """The vectors' length; asks the server by one short text if nobody has said it yet."""
        if self._dimension is None:
            return self.embed_query("dimension").shape[0]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The texts' unit vectors in their order: (n, dimension) float32.

        Raises InvalidInputError for a blank text, EmbeddingError if the server fails for good or
        answers something unusable.
        """
        check_texts(texts)
        starts = range(0, len(texts), self._batch_size)
        batches = [self._embed_batch(texts[start : start + self._batch_size]) for start in starts]
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of one question: (dimension,) float32; raises as `embed` does."""
        return self.embed([text])[0]

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        vectors = _parse_vectors(self._request(texts), len(texts))
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        check_vectors(vectors, len(texts), self._dimension)
        return normalise(vectors)

    def _request(self, texts: Sequence[str]) -> str:
        from openai import OpenAIError

        try:
            response = self._client.embeddings.with_raw_response.create(
                model=self.model, input=list(texts), encoding_format="float"
            )
        except OpenAIError as error:
            raise EmbeddingError(
                f"the embedding server at {shown_url(str(self._client.base_url))} failed:"
                f" {hide_secrets(error, self._client.api_key)}"
            ) from error
        return response.text


def _open_client(
    *, base_url: str | None, api_key: str | None, timeout: float, max_retries: int
) -> "OpenAI":
    try:
        from openai import OpenAI, OpenAIError
    except ImportError as error:
        raise ConfigurationError(
            "the embedder 'openai' needs the openai package: pip install 'memsense[openai]'"
        ) from error
    if base_url is not None and api_key is None:
        api_key = NO_KEY  # else the client would send the user's OPENAI_API_KEY to that server
    try:
        return OpenAI(api_key=api_key, base_url=base_url, timeout=timeout, max_retries=max_retries)
    except OpenAIError as error:
        raise ConfigurationError(f"the embedder 'openai' can't be set up: {error}") from error


def _parse_vectors(body: str, n: int) -> NDArray[np.float64]:
    """The n vectors of an answer in the order of their indexes, not yet checked: (n, length)."""
    try:
        rows = {item["index"]: item["embedding"] for item in json.loads(body)["data"]}
        vectors = np.array([rows[index] for index in sorted(rows)], dtype=np.float64)
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddingError(
            f"the embedding server's answer is no list of vectors: {error!r}"
        ) from error
    if sorted(rows) != list(range(n)) or vectors.shape[:-1] != (n,):
        raise EmbeddingError(
            f"the embedding server answered {n} texts with vectors of shape {vectors.shape}"
        )
    return vectors
