"""Opens the models that the settings name: the embedder, the facet tagger, the reranker."""

from typing import Any

from memsense.config import Settings
from memsense.embed import Embedder, open_embedder
from memsense.errors import ConfigurationError
from memsense.search.rank.reranker import HttpReranker, Reranker
from memsense.write.facets import FacetTagger


def open_named_embedder(settings: Settings, *, for_few: bool = False) -> Embedder:
    """The embedder that the settings name; raises ConfigurationError.

    `for_few` says that this process will embed only a text or two: see `OnnxEmbedder`.
    """
    given = embedder_arguments(settings)
    if settings.embedder == "openai":
        given["timeout"] = settings.embedding_timeout
        given["attempts"] = settings.embedding_attempts
        given["limit"] = settings.embedding_limit
        given["requests"] = settings.embedding_requests
    else:
        given["for_few"] = for_few
        given["provider"] = settings.embedding_provider
    return open_embedder(settings.embedder, **given)


def embedder_arguments(settings: Settings) -> dict[str, Any]:
    """What the settings say of which model is meant, and where."""
    found = {
        "model": settings.embedding_model,
        "base_url": settings.embedding_url,
        "api_key": settings.embedding_api_key,
        "dimension": settings.embedding_dimension,
    }
    return {name: value for name, value in found.items() if value is not None}


def open_tagger(settings: Settings) -> FacetTagger:
    """The rules, or a language model behind an OpenAI-compatible endpoint."""
    if settings.tagger == "rules":
        from memsense.write.facets import RuleTagger  # searching needs no rules

        return RuleTagger()
    if settings.tagger_url is None or settings.tagger_model is None:
        raise ConfigurationError(
            "the tagger llm needs MEMSENSE_TAGGER_URL and MEMSENSE_TAGGER_MODEL"
        )
    try:
        from memsense.write.facets.llm import LLMTagger
    except ImportError as error:
        raise ConfigurationError(
            "the tagger llm needs the openai package: pip install 'memsense[llm]'"
        ) from error
    return LLMTagger(
        base_url=settings.tagger_url,
        model=settings.tagger_model,
        api_key=settings.tagger_api_key,
    )


def open_reranker(settings: Settings) -> Reranker | None:
    """The local cross-encoder, or what speaks the /rerank protocol at the URL of the settings."""
    if settings.reranker == "cross-encoder":
        from memsense.search.rank.cross_encoder import CrossEncoder

        return CrossEncoder()
    if settings.reranker_url is None:
        return None
    return HttpReranker(
        settings.reranker_url,
        model=settings.reranker_model,
        api_key=settings.reranker_api_key,
    )
