"""Settings, read once from the environment (`MEMSENSE_*`) and passed down from there."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from memsense.environment import read_setting_variables, setting_variables, split_folders
from memsense.errors import ConfigurationError

ROOT_DATA_DIR = Path("/var/lib/memsense")
"""Root's data directory: the user that its embedded server runs as can't reach root's home."""

HIDDEN = "***"
SECRETS = frozenset(
    {
        "database_url",
        "replica_url",
        "seal_key",
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
"""Characters of the shortest value that is hidden; shorter ones occur in ordinary text."""

_QUERY = re.compile(r"\?[^#]*")

Origin = Literal["default", "environment", "given"]


def is_root() -> bool:
    """Return whether root runs this process; PostgreSQL then runs as another user."""
    return os.name == "posix" and os.geteuid() == 0


def _default_data_dir() -> Path:
    """Return the data directory to use if none is set."""
    # An earlier version stored root's data in root's home; such a store stays in use.
    own = Path(platformdirs.user_data_dir("memsense", appauthor=False))
    return ROOT_DATA_DIR if is_root() and not (own / "cluster").exists() else own


class Settings(BaseModel):
    """Settings of a deployment; the environment variable of each field is `MEMSENSE_<FIELD>`.

        settings = Settings(pool_max_size=3)  # the other fields come from the environment

    Names of variables are case-insensitive; unknown variables are ignored. `repr` hides secrets.
    """

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    database_url: str | None = Field(
        default=None, description="PostgreSQL URL; unset: embedded server"
    )
    replica_url: str | None = Field(
        default=None, description="a standby of the database, which answers searches and lists"
    )
    replica_lag: float = Field(
        default=5.0, ge=0, description="seconds that a replica may lag behind others' writes"
    )
    data_dir: Path = Field(
        default_factory=_default_data_dir, description="where the embedded server keeps its data"
    )
    tenant: str = Field(default="default", description="tenant that owns the memory")
    namespace: str = Field(default="default", description="namespace inside the tenant")
    language: str = Field(
        default="auto",
        description="language of the texts of new namespaces, by its code; auto: each text's own",
    )
    profile: str = Field(default="balanced", description="recall profile")
    embedder: Literal["onnx", "multilingual", "openai"] = Field(
        default="onnx",
        description="what embeds: the English model that is installed (onnx), one of 16 languages"
        " (multilingual), or a server that speaks OpenAI's POST /embeddings (openai)",
    )
    embedding_model: str | None = Field(
        default=None, description="the embedding server's name of the model"
    )
    embedding_url: str | None = Field(
        default=None, description="the embedding server, such as http://localhost:11434/v1"
    )
    embedding_api_key: str | None = Field(default=None, description="the embedding server's key")
    embedding_api_keys: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="the keys of other models' servers, as JSON: {URL: key}",
    )
    embedding_dimension: int | None = Field(
        default=None, description="length of the vectors to ask the embedding server for"
    )
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
    multilingual: Literal["auto", "off"] = Field(
        default="auto",
        description="whether a new namespace gets the multilingual model next to the English one;"
        " auto: if it is installed",
    )
    embed: Literal["now", "later", "strict"] = Field(
        default="now",
        description="when writes embed: now, and later what fails (now); all later; or now or not"
        " at all (strict)",
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
    tagger_model: str | None = Field(default=None, description="the tagger's name of its model")
    tagger_api_key: str | None = Field(default=None, description="the tagger's key")
    reranker: Literal["http", "cross-encoder"] = Field(
        default="http", description="what asks a second opinion: reranker_url, or a local model"
    )
    reranker_url: str | None = Field(
        default=None, description="server speaking POST /rerank; unset: none"
    )
    reranker_model: str | None = Field(default=None, description="the reranker's name of its model")
    reranker_api_key: str | None = Field(default=None, description="the reranker's key")
    pool_min_size: int = Field(
        default=1, ge=0, description="connections that an open memory keeps ready"
    )
    pool_max_size: int = Field(
        default=8, ge=1, description="connections that an open memory uses at most"
    )
    pool_timeout: float = Field(
        default=10.0, gt=0, description="seconds to wait for a free connection"
    )
    prepared_statements: bool | None = Field(
        default=None, description="unset: unless a pooler such as PgBouncer would mix them up"
    )
    require_policies: bool = Field(
        default=False, description="refuse to open what row-level security does not guard"
    )
    owner_url: str | None = Field(
        default=None,
        description="database_url as the tables' owner or a superuser, for serve --in-container",
    )
    seal_key: str | None = Field(
        default=None, description="signs the tenant of each transaction, where tenants are sealed"
    )
    sealed_pooler: bool = Field(
        default=False,
        description="open sealed tenants through a pooler, whose pools each serve one tenant",
    )
    recall_timeout: float = Field(
        default=30.0, ge=0, le=86_400, description="seconds that a recall may take; 0: any"
    )
    query_cache_size: int = Field(
        default=1024, ge=0, description="embedded questions that a process remembers"
    )
    index_threshold: int = Field(
        default=8_000, ge=1, description="active chunks from which a user gets HNSW indexes"
    )
    index_users: int = Field(
        default=16,
        ge=0,
        description="users of a database that have HNSW indexes at most; the largest ones",
    )
    auto_index: bool = Field(
        default=False, description="a worker gives and takes HNSW indexes by itself, as jobs"
    )
    redact: Literal["all", "logs", "off"] = Field(
        default="all",
        description="where secrets are replaced before anything is stored: in what ingest, hooks"
        " and MCP bring (logs), in calls as well (all), or nowhere (off); if set, it comes before"
        " the namespace's own setting",
    )
    silence: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="chance that something known concerns a prompt below which it gets no context",
    )
    exclude_folders: list[str] = Field(
        default_factory=list[str],
        description="folders whose sessions ingest and hooks never read; a JSON list, or paths"
        f" separated by {os.pathsep!r}",
    )
    trace_sample: float = Field(default=0.0, ge=0, le=1, description="share of searches to record")
    trace_days: float = Field(
        default=30.0, ge=0, description="age at which 'trace prune' deletes traces"
    )
    statistics_days: float = Field(
        default=90.0, ge=0, description="age at which statistics of searches are deleted"
    )
    purge_days: float = Field(
        default=30.0,
        ge=0,
        description="age at which the doctor, and a worker who owns the tables, look after erasures"
        " that are not purged",
    )
    metering: bool = Field(
        default=False,
        description="count calls by tenant, namespace, user, verb and day (memsense tenant usage)",
    )
    telemetry_text: bool = Field(
        default=False, description="include questions and memories in spans of OpenTelemetry"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_environment(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        variables = {
            name: text for name, text in read_setting_variables() if name in cls.model_fields
        }
        return variables | arguments

    @field_validator("embedding_api_keys", mode="before")
    @classmethod
    def _read_json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            keys = json.loads(value)
        except json.JSONDecodeError:
            keys = None
        if not isinstance(keys, dict):
            raise ValueError(  # noqa: TRY004 (pydantic reports only this one)
                'it must be a JSON object such as {"https://host/v1": "key"}'
            )
        return keys  # pyright: ignore[reportUnknownVariableType]

    @field_validator("exclude_folders", mode="before")
    @classmethod
    def _split_folders(cls, value: object) -> object:
        return split_folders(value) if isinstance(value, str) else value

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
    """A setting's value and its origin; `variable` is the name of its environment variable."""

    name: str
    value: Any
    origin: Origin
    variable: str | None


def hide_secret(name: str, value: Any) -> Any:
    """Return a setting's value to print: without keys, database URLs and other passwords."""
    if value and name in SECRETS:
        return HIDDEN
    return shown_url(value) if isinstance(value, str) and "//" in value else value


def shown_url(url: str) -> str:
    """Return a service's URL to print: without user, password and query.

    Text after a host name without a dot may be a password whose @ is missing, so it is hidden too.
    """
    hidden = _QUERY.sub(f"?{HIDDEN}", _USER_INFO.sub(f"//{HIDDEN}@", url), count=1)
    return _HOST_OR_USER.sub(rf"\1{HIDDEN}", hidden)


def hide_secrets(text: object, *secrets: str | None) -> str:
    """Return the text of a service or a library, without these secrets."""
    masked = str(text)
    for secret in secrets:
        if secret and len(secret) >= SHORTEST_SECRET:
            masked = masked.replace(secret, HIDDEN)
    return masked


def load_settings(**overrides: object) -> Settings:
    """Return the settings of this process; `overrides` that are not None win over the environment.

    Raises:
        ConfigurationError: If values are unusable; names each variable or setting.
    """
    values = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        variables = setting_variables()
        problems = [
            f"{name if name in values else variables.get(name, name)}: {describe_fault(it['msg'])}"
            for it in error.errors()
            for name in [".".join(map(str, it["loc"]))]
        ]
        raise ConfigurationError("; ".join(problems)) from error


def explain_settings(**overrides: object) -> list[SettingInUse]:
    """Return the settings of `load_settings`, each with its origin."""
    settings = load_settings(**overrides)
    variables = setting_variables()
    return [
        _explain(settings, name, variables.get(name), overrides)
        for name in type(settings).model_fields
    ]


def _explain(
    settings: Settings, name: str, variable: str | None, overrides: dict[str, object]
) -> SettingInUse:
    is_override = overrides.get(name) is not None
    return SettingInUse(
        name=name,
        value=getattr(settings, name),
        origin="given" if is_override else "environment" if variable else "default",
        variable=None if is_override else variable,
    )


def describe_fault(message: str) -> str:
    """Return a message of pydantic in the style of memsense's errors."""
    text = message.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
