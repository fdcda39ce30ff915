import os
import traceback
from pathlib import Path

import pytest

from memsense.config import Settings, explain_settings, load_settings, shown_url
from memsense.errors import ConfigurationError


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("MEMSENSE_"):
            monkeypatch.delenv(name)


def test_settings_have_defaults() -> None:
    settings = load_settings()
    assert (settings.tenant, settings.embedder, settings.pool_max_size) == ("default", "onnx", 8)
    assert settings.database_url is None
    assert settings.data_dir.name == "memsense"


def test_every_setting_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "data_dir": "/srv/memory",
        "embedder": "openai",
        "tagger": "llm",
        "reranker": "cross-encoder",
        "embedding_dimension": "768",
        "trace_sample": "0.5",
        "token_vectors": "false",
        "prepared_statements": "false",
        "require_policies": "true",
        "sealed_pooler": "true",
        "metering": "true",
        "telemetry_text": "true",
        "auto_index": "true",
        "embed": "later",
        "multilingual": "off",
        "worker": "on",
        "redact": "all",
        "silence": "0.7",
        "exclude_folders": f"/a{os.pathsep}/b c",
        "embedding_api_keys": '{"https://host/v1": "secret"}',
    }
    for name in Settings.model_fields:
        given = values.get(name, "7")
        monkeypatch.setenv(f"MEMSENSE_{name.upper()}", given)
    settings = load_settings()
    assert settings.data_dir == Path("/srv/memory")
    chosen = (settings.embedder, settings.tagger, settings.reranker)
    assert chosen == ("openai", "llm", "cross-encoder")
    assert (settings.embedding_dimension, settings.trace_sample) == (768, 0.5)
    assert settings.token_vectors is False
    assert (settings.auto_index, settings.metering) == (True, True)
    assert (settings.prepared_statements, settings.require_policies) == (False, True)
    assert settings.sealed_pooler is True
    assert (settings.embed, settings.worker, settings.job_attempts) == ("later", "on", 7)
    assert settings.embedding_api_keys == {"https://host/v1": "secret"}
    assert (settings.redact, settings.exclude_folders) == ("all", ["/a", "/b c"])
    rest = Settings.model_fields.keys() - values.keys()
    assert {str(getattr(settings, name)).removesuffix(".0") for name in rest} == {"7"}


def test_the_case_of_a_variable_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("memsense_Tenant", "acme")
    assert load_settings().tenant == "acme"


def test_variables_that_are_no_setting_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_COLOUR", "blue")
    monkeypatch.setenv("TENANT", "acme")
    assert load_settings().tenant == "default"


def test_arguments_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_TENANT", "acme")
    monkeypatch.setenv("MEMSENSE_NAMESPACE", "work")
    settings = load_settings(tenant="umbrella", namespace=None)
    assert (settings.tenant, settings.namespace) == ("umbrella", "work")
    assert Settings(tenant="initech").tenant == "initech"


def test_a_copy_does_not_read_the_environment_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(tenant="acme")
    monkeypatch.setenv("MEMSENSE_NAMESPACE", "work")
    assert settings.model_copy(update={"profile": "memsense"}).namespace == "default"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("POOL_MAX_SIZE", "many", "input should be a valid integer"),
        ("POOL_MAX_SIZE", "0", "input should be greater than or equal to 1"),
        ("POOL_TIMEOUT", "", "input should be a valid number"),
        ("TRACE_SAMPLE", "1.5", "input should be less than or equal to 1"),
        ("EMBEDDER", "magic", "input should be 'onnx', 'multilingual' or 'openai'"),
        ("embedding_dimension", "wide", "input should be a valid integer"),
        ("DATA_DIR", "", "it is empty; name a directory, or unset it"),
    ],
)
def test_an_unusable_value_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"MEMSENSE_{name}", value)
    with pytest.raises(ConfigurationError, match=f"^MEMSENSE_{name}: {told}"):
        load_settings()
    with pytest.raises(ConfigurationError, match=f"^{name.lower()}: {told}"):
        load_settings(**{name.lower(): value})


def test_all_unusable_values_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_POOL_MAX_SIZE", "many")
    monkeypatch.setenv("MEMSENSE_TRACE_DAYS", "-1")
    with pytest.raises(
        ConfigurationError, match="MEMSENSE_POOL_MAX_SIZE: .*; MEMSENSE_TRACE_DAYS: "
    ):
        load_settings()


def test_printed_settings_hide_their_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    password = "hunter2pw"
    secrets = ["database_url", "embedding_api_key", "tagger_api_key", "reranker_api_key"]
    for name in secrets:
        monkeypatch.setenv(f"MEMSENSE_{name.upper()}", f"postgresql://ada:{password}@db/m")
    monkeypatch.setenv("MEMSENSE_RERANKER_URL", f"https://ada:{password}@models.example/v1")
    settings = load_settings()
    for printed in (repr(settings), str(settings), f"{settings!r:>9}", repr([settings])):
        assert password not in printed
        assert "tenant='default'" in printed
        assert "reranker_url='https://***@models.example/v1'" in printed
        for name in secrets:
            assert f"{name}='***'" in printed
    assert settings.embedding_api_key == f"postgresql://ada:{password}@db/m"
    assert "database_url=None" in repr(Settings(database_url=None))


def test_an_unusable_secret_is_not_quoted_by_the_error_or_its_cause() -> None:
    password = "hunter2pw"
    with pytest.raises(ConfigurationError) as caught:
        load_settings(embedding_api_key=[password], embedder=password)
    assert password not in "".join(traceback.format_exception(caught.value))


def test_each_setting_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_TENANT", "acme")
    monkeypatch.setenv("memsense_namespace", "work")
    found = {item.name: item for item in explain_settings(tenant="umbrella", database_url=None)}
    assert list(found) == list(Settings.model_fields)
    assert (found["tenant"].value, found["tenant"].origin) == ("umbrella", "given")
    assert found["namespace"].origin == "environment"
    assert found["namespace"].variable == "memsense_namespace"
    assert (found["database_url"].value, found["database_url"].origin) == (None, "default")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://ada:secret@host:80/v1?key=secret", "http://***@host:80/v1?***"),
        ("http://ada:12345/v1", "http://ada:***/v1"),
        ("http://ada:s3cret/v1", "http://ada:***/v1"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("https://api.example.com:8443/v1", "https://api.example.com:8443/v1"),
    ],
)
def test_a_service_s_url_is_shown_without_what_may_be_a_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize("given", ["secret", '["secret"]', "7"])
def test_keys_of_servers_are_a_json_object(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("MEMSENSE_EMBEDDING_API_KEYS", given)
    with pytest.raises(ConfigurationError, match="EMBEDDING_API_KEYS: it must be a JSON object"):
        load_settings()


def test_keys_of_servers_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_EMBEDDING_API_KEYS", '{"https://host/v1": "secret"}')
    assert "secret" not in repr(load_settings())
