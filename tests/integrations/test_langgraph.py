"""LangGraph's store beyond LangGraph's own tests: arithmetic, filters, whose items they are."""

from collections.abc import Callable, Generator
from typing import Any, TypedDict

import psycopg
import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.errors import DataRefusedError, InvalidInputError, NotFoundError

pytest.importorskip("langgraph", reason="needs memsense[langgraph]")

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]
    END,
    START,
    StateGraph,
)
from langgraph.store.base import BaseStore, PutOp

from memsense.integrations.langgraph import AsyncMemSenseStore, MemSenseStore, ScoredItem

TEXTS = {
    "home": "Ada moved to Lisbon in May.",
    "food": "Ada must not eat peanuts.",
    "tram": "The tram of Lisbon is yellow.",
}


@pytest.fixture
def store(memory: MemSense) -> MemSenseStore:
    """Three memories of Ada's, by the memory's own embedder."""
    store = MemSenseStore(memory, index={"fields": ["text"]}, user_label=1)
    for number, (key, text) in enumerate(TEXTS.items()):
        store.put(("memories", "ada"), key, {"text": text, "number": number})
    return store


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def scored(store: MemSenseStore, prefix: tuple[str, ...], query: str) -> list[ScoredItem]:
    found = store.search(prefix, query=query)
    assert all(isinstance(item, ScoredItem) for item in found)
    return [item for item in found if isinstance(item, ScoredItem)]


def test_vectors_and_words_are_fused_and_the_parts_add_up(store: MemSenseStore) -> None:
    found = scored(store, ("memories",), "Who moved to Lisbon?")
    assert [item.key for item in found][:2] == ["home", "tram"]
    for item in found:
        explain = item.explain
        assert sum(explain["parts"].values()) == pytest.approx(item.score)
        for route in explain["routes"]:
            assert route["contribution"] == pytest.approx(1 / (60 + route["rank"]))
    assert set(found[0].explain["parts"]) == {"vector", "words"}
    assert found[0].explain["routes"][0]["field"] == "text"
    # Its text, which is made of `dict()`, goes to models, which have no use for the arithmetic.
    assert "explain" not in repr(found[0])
    assert set(found[2].explain["parts"]) == {"vector"}  # no word in common


def test_with_a_distance_the_score_is_that_similarity_alone(memory: MemSense) -> None:
    store = MemSenseStore(memory, index={"distance_type": "cosine"})
    store.put(("a",), "k", {"text": "tea"})
    [item] = scored(store, ("a",), "coffee")
    asked, told = HashingEmbedder().embed(["coffee", '{"text": "tea"}'])
    assert item.score == pytest.approx(float(asked @ told), abs=1e-3)
    assert item.explain["parts"] == {"vector": item.score}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": {"$gt": 9}}, {"ten", "hundred"}),
        ({"n": {"$lte": 10.0}}, {"nine", "ten"}),
        ({"n": {"$gte": 9, "$lt": 100}}, {"nine", "ten"}),
        ({"n": {"$ne": 9}}, {"ten", "hundred", "text", "none"}),
        ({"n": {"$gt": "8"}}, {"text"}),
        ({"n": 10.0}, {"ten"}),
        ({"n": "9"}, {"text"}),
        ({"n": None}, {"none"}),
        ({"at": {"place": "Porto"}}, {"nine"}),
        ({"at": {"floor": {"$gte": 10}}}, {"ten"}),
        ({"tags": ["a", "b"]}, {"hundred"}),
    ],
)
def test_a_filter_compares_what_is_of_one_type(
    memory: MemSense, wanted: dict[str, Any], found: set[str]
) -> None:
    store = MemSenseStore(memory, index=False)
    values: dict[str, dict[str, Any]] = {
        "nine": {"n": 9, "at": {"place": "Porto", "floor": 9}},
        "ten": {"n": 10, "at": {"place": "Lisbon", "floor": 10}},
        "hundred": {"n": 100, "tags": ["a", "b"]},
        "text": {"n": "9"},
        "none": {"tags": ["b"]},
    }
    for key, value in values.items():
        store.put(("numbers",), key, value)
    assert {item.key for item in store.search((), filter=wanted, limit=9)} == found


def test_an_unknown_operator_is_refused(store: MemSenseStore) -> None:
    with pytest.raises(InvalidInputError, match=r"\$regex.*\$eq"):
        store.search((), filter={"text": {"$regex": "x"}})


def test_the_dimension_that_was_said_holds(memory: MemSense) -> None:
    store = MemSenseStore(memory, index={"dims": 3})
    with pytest.raises(InvalidInputError, match=r"48.*3"):
        store.put(("a",), "k", {"text": "tea"})


def test_vectors_of_another_model_are_not_compared(memory: MemSense) -> None:
    def embed(texts: Any) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    given: Any = {"embed": embed, "model": "flat", "distance_type": "cosine"}
    MemSenseStore(memory, index=given).put(("a",), "flat", {"text": "tea"})
    own = MemSenseStore(memory, index={"distance_type": "cosine"})
    own.put(("a",), "own", {"text": "tea"})
    assert [(item.key, item.score is None) for item in own.search(("a",), query="tea")] == [
        ("own", False),
        ("flat", True),
    ]


def test_a_store_sees_only_its_tenant_namespace_and_collection(
    store: MemSenseStore, memory: MemSense, database_url: str
) -> None:
    for tenant, namespace in (("other", None), (None, "other")):
        with MemSense.open(
            database_url, embedder=HashingEmbedder(), tenant=tenant, namespace=namespace
        ) as other:
            beside = MemSenseStore(other)
            assert beside.search(()) == []
            assert beside.list_namespaces() == []
            beside.put(("memories", "ada"), "home", {"text": "mine"})
            assert beside.get(("memories", "ada"), "home")
    aside = MemSenseStore(memory, collection="aside")
    assert aside.get(("memories", "ada"), "home") is None
    item = store.get(("memories", "ada"), "home")
    assert item is not None
    assert item.value["text"] == TEXTS["home"]


def test_items_are_erased_with_their_user(
    store: MemSenseStore, memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    store.put(("memories", "eve"), "home", {"text": "Eve lives in Porto."})
    receipt = memory.erase(user_id="ada")
    assert receipt.counts == {"items": 3}
    assert [item.namespace for item in store.search(())] == [("memories", "eve")]
    assert conn.execute("SELECT count(*) FROM memsense.item_vectors").fetchone() == (1,)
    with pytest.raises(NotFoundError):
        memory.erase(user_id="ada")


def test_a_batch_is_one_transaction(memory: MemSense) -> None:
    store = MemSenseStore(memory, index=False)
    store.put(("a",), "old", {"n": 1})
    with pytest.raises(DataRefusedError):
        store.batch([PutOp(("a",), "old", None), PutOp(("a",), "bad", {"n": float("nan")})])
    assert [item.key for item in store.search(("a",))] == ["old"]


class State(TypedDict):
    question: str
    answer: str


def build_graph(store: BaseStore, model: GenericFakeChatModel) -> Any:
    """A graph that looks into its store before it answers, and keeps what was said."""

    async def answer(state: State, *, store: BaseStore) -> dict[str, str]:
        known = await store.asearch(("memories", "ada"), query=state["question"], limit=1)
        prompt = f"{known[0].value['text']}\n\n{state['question']}"
        said = await model.ainvoke(prompt)
        await store.aput(("memories", "ada"), "said", {"text": said.text})
        return {"answer": f"{prompt} -> {said.text}"}

    graph: Any = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(store=store)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("make", [MemSenseStore, AsyncMemSenseStore])
async def test_a_graph_reads_and_writes_it(
    memory: MemSense, make: Callable[..., BaseStore]
) -> None:
    used = make(memory, index={"fields": ["text"]})
    model = GenericFakeChatModel(messages=iter([AIMessage("In Lisbon.")]))
    graph = build_graph(used, model)
    state = await graph.ainvoke({"question": "Where has Ada moved to?", "answer": ""})
    assert TEXTS["home"] in state["answer"]
    kept = await used.aget(("memories", "ada"), "said")
    assert kept is not None
    assert kept.value == {"text": "In Lisbon."}


def test_words_are_found_whatever_language_a_text_is_taken_for(memory: MemSense) -> None:
    store = MemSenseStore(memory, index={"fields": ["text"]})
    text = "Am Wochenende treffen wir uns mit den Nachbarn und ihren Kindern am großen See."
    store.put(("notes",), "lake", {"text": text})
    for question in ("Kindern", "Nachbarn", "Welche Kinder treffen wir am See?"):
        [item] = scored(store, ("notes",), question)
        assert "words" in item.explain["parts"], question
