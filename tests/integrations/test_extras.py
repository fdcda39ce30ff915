"""An adapter without its framework says what to install."""

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("google_adk", "google.adk.memory.base_memory_service", "google-adk"),
        ("langchain", "langchain_core.callbacks", "langchain"),
        ("langgraph", "langgraph.store.base", "langgraph"),
        ("llamaindex", "llama_index.core.base.base_retriever", "llamaindex"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_an_adapter_names_its_extra(
    module: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"memsense.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"pip install 'memsense\[{extra}\]'"):
        import_module(name)
