"""The embedder for any server with OpenAI's /embeddings endpoint, through the openai client."""

import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memsense.config import hide_secrets, shown_url
from memsense.embed.base import Vectors, check_texts, check_vectors, normalise
from memsense.errors import ConfigurationError, EmbeddingError

if TYPE_CHECKING:
    from openai import APIError, OpenAI

NO_KEY = "none"

_PASSING = frozenset({408, 409, 429})
_SERVER_FAULT = 500
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0


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
        attempts: int = 4,
        limit: float = 120,
        batch_size: int = 128,
        requests: int = 4,
    ) -> None:
        """Set up the client; nothing is sent yet.

        Without `base_url` the client's own environment variables hold (OPENAI_BASE_URL,
        OPENAI_API_KEY); with it, only `api_key` is ever sent there. `dimension` is checked against
        each answer; without it the first answer decides. An attempt fails when the server is
        silent for `timeout` seconds; after it, a lost connection, or an answer of 408, 409, 429 or
        5xx, another one follows: `attempts` in all, within `limit` seconds for each batch. At most
        `requests` batches of one call are under way at a time.
        Raises ConfigurationError if a setting is unusable or the openai package is missing.
        """
        if min(batch_size, attempts, requests) < 1:
            raise ConfigurationError("batch_size, attempts and requests must be at least 1")
        if timeout <= 0 or limit <= 0:
            raise ConfigurationError("timeout and limit must be above 0 seconds")
        self.model = model
        self._dimension = dimension
        self._batch_size = batch_size
        self._requests = requests
        self._timeout = timeout
        self._attempts = attempts
        self._limit = limit
        self._client = _open_client(base_url=base_url, api_key=api_key)

    @property
    def dimension(self) -> int:
        """The vectors' length; asks the server by one short text if nobody has said it yet."""
        if self._dimension is None:
            return self.embed_query("dimension").shape[0]
        return self._dimension

    @property
    def known_dimension(self) -> int | None:
        """The vectors' length, None before anybody has said it."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The texts' unit vectors in their order: (n, dimension) float32.

        Raises InvalidInputError for a blank text, EmbeddingError if the server fails for good or
        answers something unusable.
        """
        check_texts(texts)
        starts = range(0, len(texts), self._batch_size)
        batches = self._embed_each([texts[start : start + self._batch_size] for start in starts])
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of one question: (dimension,) float32; raises as `embed` does."""
        return self.embed([text])[0]

    def _embed_each(self, batches: Sequence[Sequence[str]]) -> list[Vectors]:
        """The vectors of each batch, several at a time once the vectors' length is known; after
        one has failed for good, none is begun."""
        known = [self._embed_batch(batches[0])] if batches and self._dimension is None else []
        left = batches[len(known) :]
        if len(left) < 2 or self._requests == 1:  # noqa: PLR2004
            return known + [self._embed_batch(batch) for batch in left]
        with ThreadPoolExecutor(self._requests, thread_name_prefix="memsense-embed") as pool:
            under_way = [pool.submit(self._embed_batch, batch) for batch in left]
            try:
                return known + [batch.result() for batch in under_way]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        vectors = _parse_vectors(self._request(texts), len(texts))
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        check_vectors(vectors, len(texts), self._dimension)
        return normalise(vectors)

    def _request(self, texts: Sequence[str]) -> str:
        from openai import APIError, OpenAIError

        began = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            left = self._limit - (time.monotonic() - began)
            try:
                return self._send(texts, min(self._timeout, left))
            except APIError as error:
                pause = _pause_after(error, attempt)
                taken = time.monotonic() - began
                is_last = attempt == self._attempts or taken + pause >= self._limit
                if is_last or not _may_pass(error):
                    raise EmbeddingError(self._explain(error, attempt, taken)) from error
                time.sleep(pause)
            except OpenAIError as error:
                raise EmbeddingError(self._explain(error, attempt, 0)) from error
        raise AssertionError  # the last attempt returns or raises

    def _send(self, texts: Sequence[str], timeout: float) -> str:
        response = self._client.embeddings.with_raw_response.create(
            model=self.model, input=list(texts), encoding_format="float", timeout=timeout
        )
        return response.text

    def _explain(self, error: Exception, attempt: int, seconds: float) -> str:
        tried = f" {attempt} times in {seconds:.1f} s" if attempt > 1 else ""
        address = shown_url(str(self._client.base_url))
        told = hide_secrets(error, self._client.api_key)
        return f"the embedding server at {address} failed{tried}: {told}"


def _may_pass(error: "APIError") -> bool:
    """Whether another attempt may succeed: no answer came, or one that blames the moment."""
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIStatusError):
        return error.status_code in _PASSING or error.status_code >= _SERVER_FAULT
    return isinstance(error, APIConnectionError)


def _pause_after(error: "APIError", attempt: int) -> float:
    """Seconds until the next attempt: what the server asks for, else twice as long each time."""
    from openai import APIStatusError

    if isinstance(error, APIStatusError):
        for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
            asked = error.response.headers.get(header, "")
            if asked.isdecimal():
                return float(asked) / unit
    return random.uniform(0.75, 1) * min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)  # noqa: S311


def _open_client(*, base_url: str | None, api_key: str | None) -> "OpenAI":
    try:
        from openai import OpenAI, OpenAIError
    except ImportError as error:
        raise ConfigurationError(
            "the embedder 'openai' needs the openai package: pip install 'memsense[openai]'"
        ) from error
    if base_url is not None and api_key is None:
        api_key = NO_KEY  # else the client would send the user's OPENAI_API_KEY to that server
    try:
        return OpenAI(api_key=api_key, base_url=base_url, max_retries=0)
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
