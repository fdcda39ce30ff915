"""Spans and metrics, as OpenTelemetry's exporters in memory get them."""

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from embedders import HashingEmbedder

from memsense import AsyncMemSense, MemSense, load_settings
from memsense.errors import InvalidInputError, NotFoundError

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv.attributes import db_attributes, error_attributes
from opentelemetry.trace import SpanKind, StatusCode

SECRET = "zanzibarword"

GENAI = {
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.memory.store.id",
    "gen_ai.memory.record.count",
}
"""What spans of memories may tell by the GenAI conventions unless somebody asks for more."""

DATABASE = {
    db_attributes.DB_SYSTEM_NAME,
    db_attributes.DB_QUERY_SUMMARY,
    db_attributes.DB_OPERATION_BATCH_SIZE,
}


@pytest.fixture(scope="module")
def exported() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """Where this process's spans and metrics go; the API takes providers once."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = trace.get_tracer_provider()
    if not isinstance(tracers, TracerProvider):  # a library of another test may have set its own
        tracers = TracerProvider()
        trace.set_tracer_provider(tracers)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


@pytest.fixture
def spans(exported: tuple[InMemorySpanExporter, Any]) -> Generator[InMemorySpanExporter]:
    """The spans of this test."""
    exported[0].clear()
    yield exported[0]
    exported[0].clear()


@pytest.fixture
def told(spans: InMemorySpanExporter, memory: MemSense) -> MemSense:
    """A memory that holds a secret."""
    for text in (f"I hid it in {SECRET}.", "The tram is yellow."):
        memory.add([{"role": "user", "content": text}], user_id="ada", session_id=text)
    spans.clear()
    return memory


def by_name(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def metric_points(reader: InMemoryMetricReader) -> dict[str, Sequence[Any]]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        if scope.scope.name == "memsense"
        for metric in scope.metrics
    }


def test_a_search_is_a_span_with_its_phases_inside(
    told: MemSense, spans: InMemorySpanExporter
) -> None:
    result = told.search(f"Where is {SECRET}?", user_id="ada", trace=True)
    found = by_name(spans)
    assert set(found) == {"search_memory", "embeddings hashing", "recall", "rank", "fetch"}
    search = found.pop("search_memory")
    assert search.context is not None
    for span in found.values():
        assert span.parent is not None
        assert span.parent.span_id == search.context.span_id
    values = attributes(search)
    assert values["gen_ai.operation.name"] == "search_memory"
    assert values["gen_ai.memory.store.id"] == "default/default"
    assert values["gen_ai.memory.record.count"] == len(result)
    assert values["memsense.profile"] == result.profile
    assert values["memsense.hits.lexical"] >= 1
    recall = attributes(found["recall"])
    assert recall == {"db.system.name": "postgresql", "db.query.summary": "recall"}
    assert found["recall"].kind is SpanKind.CLIENT


def test_a_span_leads_to_the_arithmetic(told: MemSense, spans: InMemorySpanExporter) -> None:
    told.search("Where is the tram?", user_id="ada", trace=True)
    told.traces.flush()
    trace_id = attributes(by_name(spans)["search_memory"])["memsense.trace_id"]
    recorded = told.traces.get(trace_id)
    assert str(recorded.trace_id) == trace_id


def test_names_are_those_of_the_conventions(told: MemSense, spans: InMemorySpanExporter) -> None:
    chunk = told.search("Where is the tram?", user_id="ada")[0].chunk
    told.search_many(["tram", "yellow"], user_id="ada")
    told.update(chunk.chunk_id, tags=["city"])
    told.forget(chunk.chunk_id)
    with pytest.raises(NotFoundError):
        told.delete(999)
    names = {span.name for span in spans.get_finished_spans()}
    assert {"update_memory", "delete_memory"} <= names
    for span in spans.get_finished_spans():
        own = {name for name in attributes(span) if name.startswith("memsense.")}
        rest = attributes(span).keys() - own
        assert rest <= GENAI | DATABASE | {error_attributes.ERROR_TYPE}, span.name
    batch = [span for span in spans.get_finished_spans() if span.name == "recall"][-1]
    assert attributes(batch)["db.operation.batch.size"] == 2


def test_no_text_of_a_user_s_is_told(told: MemSense, spans: InMemorySpanExporter) -> None:
    told.add([{"role": "user", "content": SECRET}], user_id="xanthippe", session_id="s")
    [best, *_] = told.search(f"What of {SECRET}?", user_id="xanthippe", trace=True)
    told.update(best.chunk_id, content={"user": f"{SECRET} again"})
    with pytest.raises(InvalidInputError, match=SECRET):
        told.update(best.chunk_id, content={SECRET: "a"})
    told.erase(user_id="xanthippe")
    for span in spans.get_finished_spans():
        assert SECRET not in span.to_json()
        assert "xanthippe" not in span.to_json()


@pytest.mark.usefixtures("told")
def test_text_is_told_where_it_is_asked_for(spans: InMemorySpanExporter, database_url: str) -> None:
    settings = load_settings(database_url=database_url, telemetry_text=True)
    with MemSense.open(settings=settings, embedder=HashingEmbedder()) as telling:
        telling.search(f"What of {SECRET}?", user_id="ada", top_k=1)
    values = attributes(by_name(spans)["search_memory"])
    assert values["gen_ai.memory.query.text"] == f"What of {SECRET}?"
    [record] = json.loads(values["gen_ai.memory.records"])
    assert SECRET in record["content"]


def test_an_error_is_told_by_its_kind(told: MemSense, spans: InMemorySpanExporter) -> None:
    with pytest.raises(NotFoundError):
        told.forget(999)
    span = by_name(spans)["delete_memory"]
    assert attributes(span)["error.type"] == "NotFoundError"
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert not span.events


async def test_an_awaited_search_is_within_its_caller_s_span(
    told: MemSense, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("app").start_as_current_span("request") as outer:
        await AsyncMemSense.over(told).search("tram", user_id="ada")
    search = by_name(spans)["search_memory"]
    assert search.parent is not None
    assert search.parent.span_id == outer.get_span_context().span_id


def test_metrics_tell_of_phases_empty_answers_and_jobs(
    told: MemSense, exported: tuple[Any, InMemoryMetricReader]
) -> None:
    told.search("tram", user_id="ada")
    told.search("tram", user_id="nobody")
    told.add([{"role": "user", "content": "Later."}], user_id="ada", session_id="s", embed="later")
    points = metric_points(exported[1])
    phases = {point.attributes["memsense.phase"] for point in points["memsense.search.duration"]}
    assert phases == {"embed", "recall", "rank", "fetch", "total"}
    statements = {
        point.attributes["db.query.summary"] for point in points["db.client.operation.duration"]
    }
    assert {"recall", "fetch"} <= statements
    [empty] = points["memsense.empty_results"]
    assert empty.value >= 1
    assert {"memsense.jobs.pending", "memsense.jobs.oldest_age", "memsense.jobs.dead"} <= set(
        points
    )
    [pending] = points["memsense.jobs.pending"]
    assert pending.attributes == {"gen_ai.memory.store.id": "default/default"}
    assert pending.value == 1


def test_a_program_without_opentelemetry_never_imports_it(database_url: str) -> None:
    program = f"""
import sys
from memsense import MemSense
sys.path.append({str(next(p for p in sys.path if p.endswith("tests/sql")))!r})
from embedders import HashingEmbedder
with MemSense.open({database_url!r}, embedder=HashingEmbedder()) as memory:
    memory.add([{{"role": "user", "content": "tea"}}], user_id="ada", session_id="s")
    assert memory.search("tea", user_id="ada")
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_server_sees_a_statement_with_a_name(database_url: str) -> None:
    settings = load_settings(database_url=database_url, pool_max_size=1)
    with MemSense.open(settings=settings, embedder=HashingEmbedder()) as memory:
        memory.add([{"role": "user", "content": "tea"}], user_id="ada", session_id="s")
        memory.search("tea", user_id="ada")
        pool = memory._context.pool  # pyright: ignore[reportPrivateUsage]
        with pool.connection() as connection:
            found = connection.execute("SELECT statement FROM pg_prepared_statements").fetchall()
    assert any(text.startswith("/* recall */ WITH scope") for (text,) in found)
