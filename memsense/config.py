"""The settings, read once from the environment (`MEMSENSE_*`) and passed down from there."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from memsense.environment import read_setting_variables, setting_variables
from memsense.errors import ConfigurationError

ROOT_DATA_DIR = Path("/var/lib/memsense")
"""Root's data directory: the user that its embedded server runs as can't reach root's home."""

HIDDEN = "***"
SECRETS = frozenset(
    {
        "database_url",
        "embedding_api_key",
        "embedding_api_keys",
        "tagger_api_key",
        "reranker_api_key",
    }
)
_USER_INFO = re.compile(r"//[^/]*@")
_HOST_OR_USER = re.compile(r"(//(?!localhost:)[\w-]+:)([^/?#@]+)(?=[/?#]|$)", re.ASCII)
"""A host and its port, or a user and a password, whose @ was left out: names without a dot may be
either."""
SHORTEST_SECRET = 6
"""Characters: what is shorter stands in any text by chance."""

_QUERY = re.compile(r"\?[^#]*")

Origin = Literal["default", "environment", "given"]


def is_root() -> bool:
    """Whether root runs this process; PostgreSQL then runs as another user."""
    return os.name == "posix" and os.geteuid() == 0


def _default_data_dir() -> Path:
    """Root's own place is taken only where an earlier version has put a store."""
    own = Path(platformdirs.user_data_dir("memsense", appauthor=False))
    return ROOT_DATA_DIR if is_root() and not (own / "cluster").exists() else own


class Settings(BaseModel):
    """What a deployment may choose; every field is `MEMSENSE_<FIELD>` in the environment.

        settings = Settings(pool_max_size=3)  # the rest as the environment has it

    The case of a variable's name doesn't matter. Variables that are no setting are ignored.
    Printed, it hides its secrets.
    """

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    database_url: str | None = Field(
        default=None, description="PostgreSQL URL; unset: embedded server"
    )
    data_dir: Path = Field(
        default_factory=_default_data_dir,
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
    embedding_api_keys: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="the keys of other models' servers, as JSON: {URL: key}",
    )
    embedding_dimension: int | None = None
    embedding_timeout: float = Field(
        default=30.0, gt=0, description="seconds that the embedding server may be silent"
    )
    embedding_attempts: int = Field(
        default=4, ge=1, description="how often a request is sent before it fails"
    )
    embedding_limit: float = Field(
        default=120.0, gt=0, description="seconds that all attempts of a request may take"
    )
    embedding_requests: int = Field(
        default=4, ge=1, description="requests to the embedding server at a time, of one batch"
    )
    embedding_provider: str = Field(
        default="cpu", description="what runs the local model: cpu, or cuda with onnxruntime-gpu"
    )
    embed: Literal["now", "later", "strict"] = Field(
        default="now",
        description="when writes embed: now, or what fails later; all later; or now or not at all",
    )
    worker: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="whether an open memory does its jobs; auto: with the embedded server",
    )
    job_lease: float = Field(
        default=60.0, ge=1, description="seconds after which a silent worker's jobs are free again"
    )
    job_attempts: int = Field(
        default=8, ge=1, description="attempts after which a failing job is dead"
    )
    token_vectors: bool = Field(
        default=True, description="store token vectors with exchanges, where the embedder has them"
    )
    tagger: Literal["rules", "llm"] = Field(default="rules", description="who finds facets")
    tagger_url: str | None = Field(default=None, description="speaks POST /chat/completions")
    tagger_model: str | None = None
    tagger_api_key: str | None = None
    reranker: Literal["http", "cross-encoder"] = Field(
        default="http", description="what asks a second opinion: reranker_url, or a local model"
    )
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
    prepared_statements: bool | None = Field(
        default=None, description="unset: unless a pooler such as PgBouncer would mix them up"
    )
    require_policies: bool = Field(
        default=False, description="refuse to open what row-level security does not guard"
    )
    recall_timeout: float = Field(
        default=30.0, ge=0, le=86_400, description="seconds that a recall may take; 0: any"
    )
    query_cache_size: int = Field(default=1024, ge=0)
    index_threshold: int = Field(
        default=8_000, ge=1, description="active chunks from which a user gets HNSW indexes"
    )
    auto_index: bool = Field(
        default=False, description="a worker gives and takes HNSW indexes by itself, as jobs"
    )
    trace_sample: float = Field(default=0.0, ge=0, le=1, description="share of searches to record")
    trace_days: float = Field(
        default=30.0, ge=0, description="age at which 'trace prune' deletes traces"
    )

    telemetry_text: bool = Field(
        default=False, description="let spans of OpenTelemetry tell questions and memories"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_environment(cls, given: dict[str, Any]) -> dict[str, Any]:
        found = {name: text for name, text in read_setting_variables() if name in cls.model_fields}
        return found | given

    @field_validator("embedding_api_keys", mode="before")
    @classmethod
    def _read_json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            found = json.loads(value)
        except json.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            raise ValueError(  # noqa: TRY004 (pydantic tells only this one)
                'it must be a JSON object such as {"https://host/v1": "key"}'
            )
        return found  # pyright: ignore[reportUnknownVariableType]

    @field_validator("data_dir", mode="before")
    @classmethod
    def _refuse_empty(cls, value: object) -> object:
        if isinstance(value, str) and not value.strip():
            raise ValueError("it is empty; name a directory, or unset it")
        return value

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, hide_secret(name or "", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInUse:
    """A setting's value, and where it comes from; `variable` is the one of the environment."""

    name: str
    value: Any
    origin: Origin
    variable: str | None


def hide_secret(name: str, value: Any) -> Any:
    """The setting's value for people to read: no key, no database's URL, no password in another."""
    if value and name in SECRETS:
        return HIDDEN
    return shown_url(value) if isinstance(value, str) and "//" in value else value


def shown_url(url: str) -> str:
    """A service's URL for people to read: without its user, its password and what stands behind ?.

    What stands behind a name without a dot may be a password without its @, and is hidden too.
    """
    hidden = _QUERY.sub(f"?{HIDDEN}", _USER_INFO.sub(f"//{HIDDEN}@", url), count=1)
    return _HOST_OR_USER.sub(rf"\1{HIDDEN}", hidden)


def hide_secrets(text: object, *secrets: str | None) -> str:
    """What a service or a library says, without the secrets that it was given."""
    told = str(text)
    for secret in secrets:
        if secret and len(secret) >= SHORTEST_SECRET:
            told = told.replace(secret, HIDDEN)
    return told


def load_settings(**overrides: object) -> Settings:
    """The settings of this process; `overrides` that are not None win over the environment.

    Raises ConfigurationError naming each variable or setting that has an unusable value.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        variables = setting_variables()
        problems = [
            f"{name if name in given else variables.get(name, name)}: {describe_fault(item['msg'])}"
            for item in error.errors()
            for name in [".".join(map(str, item["loc"]))]
        ]
        raise ConfigurationError("; ".join(problems)) from error


def explain_settings(**overrides: object) -> list[SettingInUse]:
    """What `load_settings` gives, setting by setting, with where each comes from."""
    settings = load_settings(**overrides)
    variables = setting_variables()
    return [
        _explain(settings, name, variables.get(name), overrides)
        for name in type(settings).model_fields
    ]


def _explain(
    settings: Settings, name: str, variable: str | None, overrides: dict[str, object]
) -> SettingInUse:
    given = overrides.get(name) is not None
    return SettingInUse(
        name=name,
        value=getattr(settings, name),
        origin="given" if given else "environment" if variable else "default",
        variable=None if given else variable,
    )


def describe_fault(message: str) -> str:
    """Pydantic's message in the style of ours."""
    text = message.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
