"""Embedders: unit vectors of texts, by one protocol, opened by name."""

import inspect
from typing import Any

from memsense.embed.base import (
    LEAST_KNOWN,
    CachedQueries,
    CheckedEmbedder,
    Embedder,
    Vectors,
    check_texts,
    check_vectors,
    embed_distinct,
    is_embeddable,
    is_embedder_of,
    reads_whole,
    share_known,
)
from memsense.embed.multilingual import MultilingualEmbedder
from memsense.embed.onnx import OnnxEmbedder
from memsense.embed.openai_compatible import OpenAIEmbedder
from memsense.embed.tokens import (
    Passage,
    QuestionTokens,
    Reading,
    TokenEmbedder,
    Tokens,
    Vocabulary,
    cache_queries,
    check_embedder,
    find_token_embedder,
)
from memsense.errors import ConfigurationError

__all__ = [
    "LEAST_KNOWN",
    "CachedQueries",
    "CheckedEmbedder",
    "Embedder",
    "MultilingualEmbedder",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "Passage",
    "QuestionTokens",
    "Reading",
    "TokenEmbedder",
    "Tokens",
    "Vectors",
    "Vocabulary",
    "cache_queries",
    "check_embedder",
    "check_texts",
    "check_vectors",
    "embed_distinct",
    "find_token_embedder",
    "is_embeddable",
    "is_embedder_of",
    "open_embedder",
    "reads_whole",
    "share_known",
]

EMBEDDERS = {
    "multilingual": MultilingualEmbedder,
    "onnx": OnnxEmbedder,
    "openai": OpenAIEmbedder,
}


def open_embedder(name: str = "onnx", **settings: Any) -> Embedder:
    """Open the embedder of this name.

        open_embedder("openai", model="nomic-embed-text", base_url="http://localhost:11434/v1")

    Args:
        name: "onnx", "multilingual" or "openai".
        **settings: The arguments of `OnnxEmbedder`, `MultilingualEmbedder` or `OpenAIEmbedder`.

    Raises:
        ConfigurationError: If the name or a setting is unknown, or a required setting is missing.
    """
    if name not in EMBEDDERS:
        raise ConfigurationError(f"no embedder {name!r}; there are {', '.join(sorted(EMBEDDERS))}")
    embedder = EMBEDDERS[name]
    # Bound before the call, so that a TypeError from within the constructor is not taken for a
    # wrong setting.
    try:
        inspect.signature(embedder).bind(**settings)
    except TypeError as error:
        raise ConfigurationError(f"embedder {name!r}: {error}") from error
    return embedder(**settings)
