"""Models that the settings name: the embedder, the facet tagger, the reranker."""

from typing import Any

from memsense.config import Settings
from memsense.draft.facets.model import FacetTagger
from memsense.embed import Embedder, open_embedder
from memsense.errors import ConfigurationError
from memsense.search.rank.reranker import HttpReranker, Reranker


def open_named_embedder(settings: Settings) -> Embedder:
    """Open the embedder that the settings name; raise ConfigurationError if that fails."""
    arguments = embedder_arguments(settings)
    if settings.embedder == "openai":
        arguments["timeout"] = settings.embedding_timeout
        arguments["attempts"] = settings.embedding_attempts
        arguments["limit"] = settings.embedding_limit
        arguments["requests"] = settings.embedding_requests
    elif settings.embedder == "onnx":
        arguments["provider"] = settings.embedding_provider
    return open_embedder(settings.embedder, **arguments)


def embedder_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments of the embedder that the settings set: its model and its server."""
    arguments = {
        "model": settings.embedding_model,
        "base_url": settings.embedding_url,
        "api_key": settings.embedding_api_key,
        "dimension": settings.embedding_dimension,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def open_tagger(settings: Settings) -> FacetTagger:
    """Return the rules, or a language model behind an OpenAI-compatible endpoint."""
    if settings.tagger == "rules":
        from memsense.draft.facets.tagger import RuleTagger

        return RuleTagger()
    if settings.tagger_url is None or settings.tagger_model is None:
        raise ConfigurationError(
            "the tagger llm needs MEMSENSE_TAGGER_URL and MEMSENSE_TAGGER_MODEL"
        )
    try:
        from memsense.draft.facets.llm import LLMTagger
    except ImportError as error:
        raise ConfigurationError(
            "the tagger llm needs the openai package: pip install 'memsense[llm]'"
        ) from error
    return LLMTagger(
        base_url=settings.tagger_url, model=settings.tagger_model, api_key=settings.tagger_api_key
    )


def open_reranker(settings: Settings) -> Reranker | None:
    """Return the local cross-encoder, or a client of the settings' /rerank server; else None."""
    if settings.reranker == "cross-encoder":
        from memsense.search.rank.cross_encoder import CrossEncoder

        return CrossEncoder()
    if settings.reranker_url is None:
        return None
    return HttpReranker(
        settings.reranker_url, model=settings.reranker_model, api_key=settings.reranker_api_key
    )
