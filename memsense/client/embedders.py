"""The embedders of an open store: its own, others it was given, and those that a model names."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from memsense.client.models import embedder_arguments, open_named_embedder
from memsense.config import Settings
from memsense.embed import (
    CachedQueries,
    CheckedEmbedder,
    Embedder,
    cache_queries,
    check_embedder,
    is_embedder_of,
    open_embedder,
)
from memsense.embed.onnx import MODEL
from memsense.errors import ModelMismatchError
from memsense.store import Namespace
from memsense.types import EmbeddingModel, JsonValue

DESCRIBED = ("model", "base_url", "dimension")
"""The arguments of an embedder that the database keeps: no secret, and nothing of one process."""


class Embedders:
    """Finds the embedder of any model that a namespace has vectors of, and keeps it open."""

    def __init__(
        self, settings: Settings, given: Embedder | None, others: Sequence[Embedder] = ()
    ) -> None:
        self._settings = settings
        self._given = given
        self._others = [self.wrap(other) for other in others]
        self._opened: dict[tuple[str, int], Embedder] = {}
        self._lock = Lock()
        self._open_own: Callable[[], Embedder] = lambda: given or open_named_embedder(settings)

    def apart(self) -> "Embedders":
        """The same models, loaded once, with a cache of questions apart."""
        other = Embedders(self._settings, self._given, [_uncached(one) for one in self._others])
        other._open_own = lambda: _uncached(self.own)
        return other

    @cached_property
    def own(self) -> Embedder:
        """What the store was opened with, or the settings name; with a cache of questions."""
        return self.wrap(self._open_own())

    def find(self, model: EmbeddingModel) -> Embedder | None:
        """The model's embedder; None if nobody has given it and the database doesn't say how to
        open it."""
        for embedder in (self.own, *self._others):
            if is_embedder_of(embedder, model):
                return embedder
        with self._lock:
            key = model.name, model.dimension
            if key not in self._opened and (made := self._open(model)):
                self._opened[key] = made
            return self._opened.get(key)

    def of(self, namespace: Namespace) -> Embedder:
        """The embedder of the model that the namespace is searched with, or will be.

        Raises ModelMismatchError where it is not to be had.
        """
        return self.own if namespace.in_use is None else self.require(namespace.in_use)

    def require(self, model: EmbeddingModel) -> Embedder:
        """As `find`, but raises ModelMismatchError in place of giving None."""
        found = self.find(model)
        if found is None:
            raise ModelMismatchError(
                f"the namespace holds vectors of {model}, the embedder is {self.own.model}"
                "; use the same embedder, another namespace, or 'memsense model add' to go over to"
                " this one"
            )
        return found

    def forget(self) -> None:
        """Let no question stay in this process."""
        own = self.__dict__.get("own")
        for embedder in (own, *self._others, *self._opened.values()):
            if isinstance(embedder, CachedQueries):
                embedder.forget()

    def describe(self, embedder: Embedder) -> Mapping[str, JsonValue]:
        """How another process opens this embedder; empty if it was brought along by this one."""
        if embedder is not self.own or self._given is not None:
            return {}
        return describe_settings(self._settings)

    def _open(self, model: EmbeddingModel) -> Embedder | None:
        if not model.embedder:
            return self.wrap(open_embedder("onnx")) if model.name == MODEL else None
        url = model.embedder.get("base_url")
        changes: dict[str, Any] = {
            "embedder": model.embedder["embedder"],
            "embedding_model": model.embedder.get("model"),
            "embedding_url": url,
            "embedding_dimension": model.dimension,
            "embedding_api_key": self.key_of(url if isinstance(url, str) else None),
        }
        return self.wrap(open_named_embedder(self._settings.model_copy(update=changes)))

    def key_of(self, url: str | None) -> str | None:
        """The key for the embedding server at that URL, which goes nowhere else."""
        if url == self._settings.embedding_url:
            return self._settings.embedding_api_key
        return self._settings.embedding_api_keys.get(url) if url else None

    def give(self, embedder: Embedder) -> None:
        """Let `find` know one more embedder, which `wrap` gave."""
        self._others.append(embedder)

    def wrap(self, embedder: Embedder) -> Embedder:
        """The embedder with its answers checked, and a cache of questions."""
        is_checked = isinstance(embedder, CheckedEmbedder)
        checked = embedder if is_checked else check_embedder(embedder)
        size = self._settings.query_cache_size
        return cache_queries(checked, size) if size else checked


def _uncached(embedder: Embedder) -> Embedder:
    return embedder.within if isinstance(embedder, CachedQueries) else embedder


def describe_settings(settings: Settings) -> Mapping[str, JsonValue]:
    """How to open the embedder that the settings name, without its key."""
    given = embedder_arguments(settings)
    kept = {name: given[name] for name in DESCRIBED if name in given}
    return {"embedder": settings.embedder, **kept}
