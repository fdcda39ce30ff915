import os
from pathlib import Path

import pytest

from memsense.config import Settings, load_settings
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
        "embedding_dimension": "768",
        "trace_sample": "0.5",
    }
    for name in Settings.model_fields:
        given = values.get(name, "7")
        monkeypatch.setenv(f"MEMSENSE_{name.upper()}", given)
    settings = load_settings()
    assert settings.data_dir == Path("/srv/memory")
    assert (settings.embedder, settings.tagger) == ("openai", "llm")
    assert (settings.embedding_dimension, settings.trace_sample) == (768, 0.5)
    rest = Settings.model_fields.keys() - values.keys()
    assert {str(getattr(settings, name)).removesuffix(".0") for name in rest} == {"7"}


def test_the_case_of_a_variable_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("memsense_Tenant", "acme")
    assert load_settings().tenant == "acme"


def test_variables_that_are_no_setting_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_COLOUR", "blue")
    monkeypatch.setenv("TENANT", "acme")
    assert load_settings().tenant == "default"


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("pool_max_size", "many", "pool_max_size: .*valid integer"),
        ("pool_max_size", "0", "pool_max_size: .*greater than or equal to 1"),
        ("pool_timeout", "", "pool_timeout: .*valid number"),
        ("trace_sample", "1.5", "trace_sample: .*less than or equal to 1"),
        ("embedder", "magic", "embedder: .*'onnx' or 'openai'"),
        ("embedding_dimension", "wide", "embedding_dimension: .*valid integer"),
    ],
)
def test_an_unusable_value_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"MEMSENSE_{name.upper()}", value)
    with pytest.raises(ConfigurationError, match=f"unusable setting: {told}"):
        load_settings()


def test_every_unusable_value_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSENSE_POOL_MAX_SIZE", "many")
    monkeypatch.setenv("MEMSENSE_TRACE_DAYS", "-1")
    with pytest.raises(ConfigurationError, match="pool_max_size: .*; trace_days: "):
        load_settings()
