"""Embedders of an open store: its own, others passed to it, and those that a model names."""

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
    multilingual,
    open_embedder,
)
from memsense.errors import ModelMismatchError
from memsense.forking import renew_in_child
from memsense.store.scopes import ModelToOpen, Namespace
from memsense.types import ENGLISH_MODEL, EmbeddingModel, JsonValue

DESCRIBED = ("model", "base_url", "dimension")
"""Arguments of an embedder that the database stores: no secret, nothing of a single process."""


class Embedders:
    """Registry that finds, and leaves open, the embedder of each model that a namespace has."""

    def __init__(
        self, settings: Settings, embedder: Embedder | None, others: Sequence[Embedder] = ()
    ) -> None:
        self._settings = settings
        self._passed_in = embedder
        self._others = [self.wrap(other) for other in others]
        self._opened: dict[tuple[str, int], Embedder] = {}
        self._renew()
        renew_in_child(self._renew)
        self._open_own: Callable[[], Embedder] = lambda: embedder or open_named_embedder(settings)

    def _renew(self) -> None:
        self._lock = Lock()

    def apart(self) -> "Embedders":
        """Return embedders with the same loaded models and a query cache of their own."""
        # Tenants share the models, which take much memory. They don't share the cached questions.
        other = Embedders(self._settings, self._passed_in, [_uncached(one) for one in self._others])
        other._open_own = lambda: _uncached(self.own)
        return other

    @cached_property
    def own(self) -> Embedder:
        """Return the embedder passed to `open`, or that of the settings, with a query cache."""
        return self.wrap(self._open_own())

    def find(self, model: EmbeddingModel) -> Embedder | None:
        """Return the model's embedder; None if it was not passed in and the database doesn't say
        how to open it."""
        for embedder in (self.own, *self._others):
            if is_embedder_of(embedder, model):
                return embedder
        with self._lock:
            key = model.name, model.dimension
            if key not in self._opened and (opened := self._open(model)):
                self._opened[key] = opened
            return self._opened.get(key)

    def of(self, namespace: Namespace) -> Embedder:
        """Return the embedder of the model that the namespace is searched with, or will be.

        Raise ModelMismatchError if this process has no such embedder.
        """
        return self.own if namespace.in_use is None else self.require(namespace.in_use)

    def require(self, model: EmbeddingModel) -> Embedder:
        """Return the model's embedder; raise ModelMismatchError where `find` returns None."""
        embedder = self.find(model)
        if embedder is None:
            raise ModelMismatchError(
                f"the namespace holds vectors of {model}, the embedder is {self.own.model}"
                "; use the same embedder, another namespace, or 'memsense model add' to go over to"
                " this one"
            )
        return embedder

    def forget(self) -> None:
        """Delete the cached questions of this process."""
        own = self.__dict__.get("own")
        for embedder in (own, *self._others, *self._opened.values()):
            if isinstance(embedder, CachedQueries):
                embedder.forget()

    @property
    def second(self) -> ModelToOpen | None:
        """The model that a new namespace gets besides the English one, if it is installed here."""
        is_on = self._settings.multilingual == "auto" and self.own.model == ENGLISH_MODEL
        if not is_on or not multilingual.is_installed():
            return None
        embedder = {"embedder": "multilingual"}
        return ModelToOpen(multilingual.MODEL, multilingual.DIMENSION, embedder)

    def describe(self, embedder: Embedder) -> Mapping[str, JsonValue]:
        """Return how another process opens this embedder; empty if it was passed in."""
        if embedder is not self.own or self._passed_in is not None:
            return {}
        return describe_settings(self._settings)

    def _open(self, model: EmbeddingModel) -> Embedder | None:
        kind = model.embedder.get("embedder") if model.embedder else None
        if kind is None and model.name != ENGLISH_MODEL:
            return None
        if kind in (None, "onnx"):  # takes no dimension, and none of the settings of a server
            return self.wrap(open_embedder("onnx", provider=self._settings.embedding_provider))
        if kind == "multilingual":
            if not multilingual.is_installed():
                return None
            return self.wrap(open_embedder("multilingual"))
        url = model.embedder.get("base_url")
        changes: dict[str, Any] = {
            "embedder": kind,
            "embedding_model": model.embedder.get("model"),
            "embedding_url": url,
            "embedding_dimension": model.dimension,
            "embedding_api_key": self.key_of(url if isinstance(url, str) else None),
        }
        return self.wrap(open_named_embedder(self._settings.model_copy(update=changes)))

    def key_of(self, url: str | None) -> str | None:
        """Return the key for the embedding server at that URL; no other server gets it."""
        if url == self._settings.embedding_url:
            return self._settings.embedding_api_key
        return self._settings.embedding_api_keys.get(url) if url else None

    def add(self, embedder: Embedder) -> None:
        """Add an embedder, which `wrap` returned, to those that `find` looks through."""
        self._others.append(embedder)

    def wrap(self, embedder: Embedder) -> Embedder:
        """Return the embedder with checked answers and a query cache."""
        is_checked = isinstance(embedder, CheckedEmbedder)
        checked = embedder if is_checked else check_embedder(embedder)
        size = self._settings.query_cache_size
        return cache_queries(checked, size) if size else checked


def _uncached(embedder: Embedder) -> Embedder:
    return embedder.within if isinstance(embedder, CachedQueries) else embedder


def describe_settings(settings: Settings) -> Mapping[str, JsonValue]:
    """Return how to open the embedder that the settings name, without its key."""
    arguments = embedder_arguments(settings)
    public = {name: arguments[name] for name in DESCRIBED if name in arguments}
    return {"embedder": settings.embedder, **public}
