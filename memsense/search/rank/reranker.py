"""Rerankers, which score texts by a model that reads question and text together; optional."""

import importlib
import json
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memsense.config import hide_secrets, shown_url
from memsense.errors import ConfigurationError, RerankerError
from memsense.forking import renew_in_child

if TYPE_CHECKING:
    import httpx

TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses of failures that may be over at the next attempt."""
LONGEST_WAIT = 8.0
FIRST_WAIT = 0.2


class Reranker(Protocol):
    """Scorer of texts against a question; higher is better.

    The term that joins a final score is the distance of a score above the lowest one of its call,
    so that a text that was not read never passes one that was. Scores count as comparable within
    one call only, and the distance is scaled to 0 to 1, unless the reranker has a float
    `score_scale`: then it is multiplied by that.
    """

    @property
    def name(self) -> str:
        """Return the name that explanations use."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite score for each text, in the order of the texts.

        Args:
            query: The question.
            texts: Texts to score, at most `reranker_depth` of them.

        Raises:
            RerankerError: If the texts can't be scored; the search then fails.
        """
        ...


def weigh_scores(
    reranker: Reranker, scores: Sequence[float], weight: float
) -> tuple[Sequence[float], float]:
    """Return the value of the reranker's term for each score, and the weight of the values."""
    low, high = min(scores), max(scores)
    scale: float | None = getattr(reranker, "score_scale", None)
    if scale is not None:
        return [score - low for score in scores], weight * scale
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores], weight


class HttpReranker:
    """A reranker behind the common POST /rerank protocol: Jina, Cohere, TEI, vLLM, LocalAI.

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

        Args:
            base_url: URL of the server, without "/rerank".
            model: Name of the model; by default the server chooses.
            api_key: Bearer token.
            timeout: Seconds for each attempt.
            retries: Number of further attempts after lost connections, 429 and temporary 5xx, each
                after the server's Retry-After (at most 8 seconds) or 0.2, 0.4, ... seconds.

        Raises:
            ConfigurationError: If a setting can't be used, or httpx is missing.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"a reranker's URL must begin with http:// or https://, not {shown_url(base_url)}"
            )
        if timeout <= 0 or retries < 0:
            raise ConfigurationError(
                f"a reranker's timeout must be above 0, its retries 0 or more, not {timeout:g} and"
                f" {retries}"
            )
        # Only now: a memory without such a reranker needs no HTTP client.
        try:
            self._httpx: Any = importlib.import_module("httpx")
        except ImportError as error:
            raise ConfigurationError(
                "a reranker needs the httpx package: pip install httpx"
            ) from error
        self._model = model
        self._url = base_url.rstrip("/") + "/rerank"
        self._shown_url = shown_url(self._url)
        self._secrets = (api_key, self._url)
        self._retries = retries
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._open_client = lambda: self._httpx.Client(timeout=timeout, headers=headers)
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        """Open a client of this process's own: a fork shares the open connections."""
        self._client: httpx.Client = self._open_client()

    @property
    def name(self) -> str:
        """Return the model, or the server's address if the server chooses the model."""
        return self._model or self._shown_url

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the server's relevance score of each text, in the order of the texts.

        Args:
            query: The question.
            texts: Texts to score.

        Raises:
            RerankerError: If the last attempt fails, or a text isn't scored exactly once.
        """
        if not texts:
            return []
        body: dict[str, object] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self._model is not None:
            body["model"] = self._model
        try:
            results = json.loads(self._post(body))["results"]
            scores = {result["index"]: float(result["relevance_score"]) for result in results}
        except (ValueError, KeyError, TypeError) as error:
            raise RerankerError(f"the reranker's answer holds no scores: {error!r}") from error
        if len(results) != len(texts) or scores.keys() != set(range(len(texts))):
            raise RerankerError(f"the reranker scored {len(results)} times for {len(texts)} texts")
        if not all(map(math.isfinite, scores.values())):
            raise RerankerError("the reranker returned a score that is not finite")
        return [scores[index] for index in range(len(texts))]

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def _post(self, body: dict[str, object]) -> str:
        for attempt in range(self._retries):
            try:
                return self._attempt(body)
            except _TemporaryError as error:
                time.sleep(_wait(attempt, error.retry_after))
        return self._attempt(body)

    def _attempt(self, body: dict[str, object]) -> str:
        try:
            response = self._client.post(self._url, json=body)
        except self._httpx.InvalidURL as error:  # its text quotes what may be a password
            raise RerankerError(f"the reranker's URL can't be read: {self._shown_url}") from error
        except self._httpx.TransportError as error:
            reason = hide_secrets(repr(error), *self._secrets)
            raise _TemporaryError(f"the reranker at {self._shown_url} failed: {reason}") from error
        if response.is_success:
            return response.text
        message = (
            f"the reranker at {self._shown_url} answered {response.status_code}:"
            f" {hide_secrets(response.text, *self._secrets)[:200]}"
        )
        if response.status_code in TEMPORARY:
            raise _TemporaryError(message, response.headers.get("Retry-After"))
        raise RerankerError(message)


class _TemporaryError(RerankerError):
    """A failure that may be over at the next attempt."""

    def __init__(self, message: str, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def _wait(attempt: int, retry_after: str | None) -> float:
    """Return the seconds until the next attempt."""
    try:
        seconds = float(retry_after) if retry_after else math.nan
    except ValueError:
        seconds = math.nan  # a date: our own pace will do
    return min(seconds if seconds >= 0 else FIRST_WAIT * 2**attempt, LONGEST_WAIT)
