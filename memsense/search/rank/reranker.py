"""Scores found texts by a model that reads question and text together; optional."""

import importlib
import json
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memsense.config import hide_secrets, shown_url
from memsense.errors import ConfigurationError, RerankerError

if TYPE_CHECKING:
    import httpx

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may be gone at the next attempt."""
LONGEST_WAIT = 8.0
FIRST_WAIT = 0.2


class Reranker(Protocol):
    """Scores texts against a question; the higher the better.

    What joins a final score is how far a score lies above the lowest one given, so that a text
    that was not read never gains by it. Scores are taken to be comparable within one call only,
    and that distance is brought to [0, 1], unless the reranker has a float `score_scale`: then it
    is multiplied by that.
    """

    @property
    def name(self) -> str:
        """What the explanation of a hit calls it."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite score a text, in the order of the texts; raises RerankerError."""
        ...


def weigh_scores(
    reranker: Reranker, scores: Sequence[float], weight: float
) -> tuple[Sequence[float], float]:
    """The values that join final scores, one a score, and what each of them is multiplied by."""
    low, high = min(scores), max(scores)
    scale: float | None = getattr(reranker, "score_scale", None)
    if scale is not None:
        return [score - low for score in scores], weight * scale
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores], weight


class HttpReranker:
    """Asks a server that speaks the common POST /rerank protocol: Jina, Cohere, TEI, vLLM, LocalAI.

        reranker = HttpReranker("http://localhost:8080", model="bge-reranker-v2-m3")
        scores = reranker.rerank("Where does Anna live?", ["She moved to Lisbon.", "Tea is hot."])

    Sends {"model", "query", "documents", "top_n"} and expects {"results": [{"index",
    "relevance_score"}]} with every document's index once. Needs the httpx package. Safe to use
    from several threads.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        timeout: float = 10,
        retries: int = 2,
    ) -> None:
        """Set up the client; nothing is sent yet.

        `base_url` is what stands before "/rerank". `timeout` is seconds per attempt; lost
        connections, 429 and passing 5xx are tried again up to `retries` times, after the
        server's Retry-After (8 seconds at most) or 0.2, 0.4, ... seconds.
        Raises ConfigurationError for an unusable setting or if httpx is missing.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"a reranker's URL begins with http:// or https://: {shown_url(base_url)}"
            )
        if timeout <= 0 or retries < 0:
            raise ConfigurationError("a reranker's timeout must be above 0, its retries 0 or more")
        self._httpx = _import_httpx()
        self._model = model
        self._url = base_url.rstrip("/") + "/rerank"
        self._shown_url = shown_url(self._url)
        self._secrets = (api_key, self._url)
        self._retries = retries
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client: httpx.Client = self._httpx.Client(timeout=timeout, headers=headers)

    @property
    def name(self) -> str:
        """The model, or the server's address if the server chooses the model."""
        return self._model or self._shown_url

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """The server's relevance score of each text, in the order of the texts.

        Raises RerankerError if the server fails for good or doesn't score every text once.
        """
        if not texts:
            return []
        body: dict[str, object] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self._model is not None:
            body["model"] = self._model
        return _parse_scores(self._post(body), len(texts))

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def _post(self, body: dict[str, object]) -> str:
        for attempt in range(self._retries):
            try:
                return self._attempt(body)
            except _PassingError as error:
                time.sleep(_wait(attempt, error.retry_after))
        return self._attempt(body)

    def _attempt(self, body: dict[str, object]) -> str:
        try:
            response = self._client.post(self._url, json=body)
        except self._httpx.InvalidURL as error:  # its text quotes what may be a password
            raise RerankerError(f"the reranker's URL can't be read: {self._shown_url}") from error
        except self._httpx.TransportError as error:
            told = hide_secrets(repr(error), *self._secrets)
            raise _PassingError(f"the reranker at {self._shown_url} failed: {told}") from error
        if response.is_success:
            return response.text
        message = (
            f"the reranker at {self._shown_url} answered {response.status_code}:"
            f" {hide_secrets(response.text, *self._secrets)[:200]}"
        )
        if response.status_code in PASSING:
            raise _PassingError(message, response.headers.get("Retry-After"))
        raise RerankerError(message)


class _PassingError(RerankerError):
    """A failure that may be gone at the next attempt."""

    def __init__(self, message: str, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def _import_httpx() -> Any:
    """httpx, loaded only now: whoever uses no reranker needs no HTTP client."""
    try:
        return importlib.import_module("httpx")
    except ImportError as error:
        raise ConfigurationError("a reranker needs the httpx package: pip install httpx") from error


def _wait(attempt: int, retry_after: str | None) -> float:
    """Seconds until the next attempt."""
    try:
        asked = float(retry_after) if retry_after else math.nan
    except ValueError:
        asked = math.nan  # a date: our own pace will do
    return min(asked if asked >= 0 else FIRST_WAIT * 2**attempt, LONGEST_WAIT)


def _parse_scores(body: str, n: int) -> list[float]:
    try:
        results = json.loads(body)["results"]
        scores = {result["index"]: float(result["relevance_score"]) for result in results}
    except (ValueError, KeyError, TypeError) as error:
        raise RerankerError(f"the reranker's answer holds no scores: {error!r}") from error
    if len(results) != n or scores.keys() != set(range(n)):
        raise RerankerError(f"the reranker scored {len(results)} times for {n} texts")
    if not all(map(math.isfinite, scores.values())):
        raise RerankerError("the reranker returned a score that is not finite")
    return [scores[index] for index in range(n)]
