"""Embedder of servers with OpenAI's /embeddings endpoint, through the openai client."""

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
from memsense.forking import renew_in_child

if TYPE_CHECKING:
    from openai import APIError

NO_KEY = "none"

_TRANSIENT = frozenset({408, 409, 429})
_SERVER_FAULT = 500
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0


class OpenAIEmbedder:
    """Embedder by an OpenAI-compatible server: OpenAI, Ollama, vLLM, LM Studio and others.

        embedder = OpenAIEmbedder("nomic-embed-text", base_url="http://localhost:11434/v1")
        vectors = embedder.embed(["I moved to Lisbon."])

    Needs the extra `memsense[openai]`. The server cuts or refuses a text that is longer than the
    model's limit. Nothing is sent before the first text. Safe to use from several threads.

    Args:
        model: Name of the model, as the server knows it.
        base_url: Address of the server. By default the client's own environment variables count
            (OPENAI_BASE_URL, OPENAI_API_KEY); with an address, only `api_key` is ever sent there.
        api_key: Key of the server, if it needs one.
        dimension: Length of the vectors; by default that of the first response. Each further
            response is checked against it.
        timeout: Seconds that a server may be silent before an attempt fails.
        attempts: Number of attempts for each batch; further ones follow a lost connection, a
            timeout, or a response of 408, 409, 429 or 5xx.
        limit: Seconds for all attempts of a batch together.
        batch_size: Texts of one request, at least 1.
        requests: Requests of one call that may be under way at a time, at least 1.

    Raises:
        ConfigurationError: If a setting is out of range, or the openai package is missing.
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
        try:
            from openai import OpenAI, OpenAIError
        except ImportError as error:
            raise ConfigurationError(
                "the embedder 'openai' needs the openai package: pip install 'memsense[openai]'"
            ) from error
        if base_url is not None and api_key is None:
            # Without any key the client would send the user's OPENAI_API_KEY to that server.
            api_key = NO_KEY
        # No retries of the client's own: they have no limit for all attempts of a batch together.
        self._open_client = lambda: OpenAI(api_key=api_key, base_url=base_url, max_retries=0)
        try:
            self._client = self._open_client()
        except OpenAIError as error:
            raise ConfigurationError(f"the embedder 'openai' can't be set up: {error}") from error
        renew_in_child(self._renew)

    def _renew(self) -> None:
        """Open a client of this process's own: a fork shares the open connections."""
        self._client = self._open_client()

    @property
    def dimension(self) -> int:
        """Length of the vectors; embeds a short text if it is unknown yet."""
        if self._dimension is None:
            return self.embed_query("dimension").shape[0]
        return self._dimension

    @property
    def known_dimension(self) -> int | None:
        """Length of the vectors, or None before the first response."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the texts' unit vectors.

        Args:
            texts: Texts, none of them blank.

        Returns:
            (n, dimension) float32, in the order of the texts.

        Raises:
            InvalidInputError: If a text is blank.
            EmbeddingError: If the server fails in every attempt, or its response is unusable.
        """
        check_texts(texts)
        starts = range(0, len(texts), self._batch_size)
        batches = self._embed_each([texts[start : start + self._batch_size] for start in starts])
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of one question, (dimension,) float32.

        Args:
            text: The question, not blank.

        Raises:
            InvalidInputError: If the question is blank.
            EmbeddingError: If the server fails in every attempt, or its response is unusable.
        """
        return self.embed([text])[0]

    def _embed_each(self, batches: Sequence[Sequence[str]]) -> list[Vectors]:
        """Return the vectors of each batch; several requests are under way at a time."""
        # The first batch goes alone while the dimension is unknown: of several first responses,
        # each would set it.
        first = [self._embed_batch(batches[0])] if batches and self._dimension is None else []
        rest = batches[len(first) :]
        if len(rest) < 2 or self._requests == 1:  # noqa: PLR2004
            return first + [self._embed_batch(batch) for batch in rest]
        with ThreadPoolExecutor(self._requests, thread_name_prefix="memsense-embed") as pool:
            under_way = [pool.submit(self._embed_batch, batch) for batch in rest]
            try:
                return first + [batch.result() for batch in under_way]
            except BaseException:
                # A batch has failed in every attempt, so that the others need not be begun.
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        vectors = _parse_vectors(self._request(texts), len(texts))
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        check_vectors(vectors, len(texts), self._dimension)
        return normalise(vectors)

    def _request(self, texts: Sequence[str]) -> str:
        """Return the body of the response; raises EmbeddingError if no attempt succeeds."""
        from openai import APIConnectionError, APIError, APIStatusError, OpenAIError

        began = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            remaining = self._limit - (time.monotonic() - began)
            try:
                # "float", since the client would ask for base64, which not every server knows.
                response = self._client.embeddings.with_raw_response.create(
                    model=self.model,
                    input=list(texts),
                    encoding_format="float",
                    timeout=min(self._timeout, remaining),
                )
            except APIError as error:
                # Another attempt may succeed if no response came, or one that blames the moment.
                is_transient = (
                    error.status_code in _TRANSIENT or error.status_code >= _SERVER_FAULT
                    if isinstance(error, APIStatusError)
                    else isinstance(error, APIConnectionError)
                )
                pause = _choose_pause(error, attempt)
                elapsed = time.monotonic() - began
                is_last = attempt == self._attempts or elapsed + pause >= self._limit
                if is_last or not is_transient:
                    raise EmbeddingError(self._explain(error, attempt, elapsed)) from error
                time.sleep(pause)
            except OpenAIError as error:
                raise EmbeddingError(self._explain(error, attempt, 0)) from error
            else:
                return response.text
        raise AssertionError  # the last attempt returns or raises

    def _explain(self, error: Exception, attempt: int, seconds: float) -> str:
        attempts = f" {attempt} times in {seconds:.1f} s" if attempt > 1 else ""
        address = shown_url(str(self._client.base_url))
        # Some servers quote the key that they refuse.
        message = hide_secrets(error, self._client.api_key)
        return f"the embedding server at {address} failed{attempts}: {message}"


def _choose_pause(error: "APIError", attempt: int) -> float:
    """Return the seconds until the next attempt: as the server asks, else doubled each time."""
    from openai import APIStatusError

    if isinstance(error, APIStatusError):
        for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
            value = error.response.headers.get(header, "")
            if value.isdecimal():
                return float(value) / unit
    # Shortened by chance, so that clients that failed together don't come back together.
    return random.uniform(0.75, 1) * min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)  # noqa: S311


def _parse_vectors(body: str, n: int) -> NDArray[np.float64]:
    """Return the n vectors of a response in the order of their indexes, unchecked: (n, length)."""
    try:
        # Servers may answer in any order; the index says which text a vector belongs to.
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
