"""The settings, read once from the environment (`MEMSENSE_*`) and passed down from there."""

import os
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memsense.errors import ConfigurationError

PREFIX = "memsense_"


class Settings(BaseModel):
    """What a deployment may choose; every field is `MEMSENSE_<FIELD>` in the environment.

        settings = Settings(pool_max_size=3)  # the rest as the environment has it

    The case of a variable's name doesn't matter. Variables that are no setting are ignored.
    """

    model_config = ConfigDict(extra="ignore")

    database_url: str | None = Field(
        default=None, description="PostgreSQL URL; unset: embedded server"
    )
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("memsense", appauthor=False)),
        description="where the embedded server keeps its data",
    )
    tenant: str = Field(default="default", description="tenant that owns the memory")
    namespace: str = Field(default="default", description="namespace inside the tenant")
    language: str = Field(
        default="english", description="text-search configuration of new namespaces"
    )
    profile: str = Field(default="balanced", description="recall profile")
    embedder: Literal["onnx", "openai"] = "onnx"
    embedding_model: str | None = None
    embedding_url: str | None = None
    embedding_api_key: str | None = None
    embedding_dimension: int | None = None
    tagger: Literal["rules", "llm"] = Field(default="rules", description="who finds facets")
    tagger_url: str | None = Field(default=None, description="speaks POST /chat/completions")
    tagger_model: str | None = None
    tagger_api_key: str | None = None
    reranker_url: str | None = Field(
        default=None, description="server speaking POST /rerank; unset: none"
    )
    reranker_model: str | None = None
    reranker_api_key: str | None = None
    pool_min_size: int = Field(default=1, ge=0)
    pool_max_size: int = Field(default=8, ge=1)
    pool_timeout: float = Field(
        default=10.0, gt=0, description="seconds to wait for a free connection"
    )
    query_cache_size: int = Field(default=1024, ge=0)
    index_threshold: int = Field(
        default=20_000, ge=1, description="active chunks from which a user gets HNSW indexes"
    )
    trace_sample: float = Field(default=0.0, ge=0, le=1, description="share of searches to record")
    trace_days: float = Field(
        default=30.0, ge=0, description="age at which 'trace prune' deletes traces"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_environment(cls, given: dict[str, Any]) -> dict[str, Any]:
        found = {name.lower().removeprefix(PREFIX): name for name in os.environ if _is_ours(name)}
        return {name: os.environ[found[name]] for name in cls.model_fields if name in found} | given


def _is_ours(name: str) -> bool:
    return name.lower().startswith(PREFIX)


def load_settings(**overrides: object) -> Settings:
    """The settings of this process; `overrides` that are not None win over the environment.

    Raises ConfigurationError naming the setting that has an unusable value.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors()
        )
        raise ConfigurationError(f"unusable setting: {problems}") from error
