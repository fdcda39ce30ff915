"""The OpenAPI text: what it promises holds for whatever it allows to be sent."""

from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from serving import Served, add

from memsense.client.traces import TracesResource
from memsense.client.verbs import Memory
from memsense.declaration import parameters_of


@pytest.mark.parametrize("name", ["positive", "negative"])
def test_every_operation_does_what_the_text_says(
    served: Served, name: str, pytestconfig: pytest.Config
) -> None:
    # Imported here: it takes two seconds, which every worker would spend on collecting this file.
    schemathesis: Any = pytest.importorskip("schemathesis", reason="needs it: make setup-all")
    checks = import_module("schemathesis.specs.openapi.checks")
    modes = schemathesis.GenerationMode
    mode = modes(name)
    examples = 10 if pytestconfig.getoption("--all") else 1
    schemathesis.serializer.alias("application/x-ndjson", "text/plain")
    client = served.client()
    add(client)
    headers = {"Authorization": client.headers["Authorization"]}
    schema: Any = schemathesis.openapi.from_asgi("/v1/openapi.json", served.app)
    del schema.raw_schema["security"]  # every request shows a key here
    rejection = schema.config.checks.negative_data_rejection
    rejection.expected_statuses = [*rejection.expected_statuses, "413"]
    # A caller may allow a call less time than it takes.
    schema.config.checks.not_a_server_error.expected_statuses = ["2xx", "3xx", "4xx", "504"]
    excluded: Any = vars(checks)["positive_data_acceptance"]
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        raw = schema.raw_schema["paths"][operation.path][operation.method]
        body = raw.get("requestBody", {}).get("content", {})
        parameters = [
            item for item in raw.get("parameters", ()) if item.get("in", "header") != "header"
        ]
        if mode is modes.NEGATIVE and not (parameters or "application/json" in body):
            continue  # nothing to be wrong about
        if mode is modes.NEGATIVE and body.keys() - {"application/json"}:
            continue  # bytes can't be wrong: what they hold is read later

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        def check(case: Any) -> None:
            # What the text can't say, such as "user_id or all_users", is a documented 422.
            case.call_and_validate(headers=headers, excluded_checks=[excluded])

        check()
        tried += 1
    assert tried > 20


def test_each_body_has_an_example_that_is_taken(served: Served) -> None:
    client, tried = served.client(), 0
    text = served.app.openapi()
    for path, operations in text["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is None:
                continue
            content = body["schema"].get("anyOf", [body["schema"]])[0]
            model = text["components"]["schemas"][content["$ref"].rpartition("/")[2]]
            for example in model.get("examples", ()):
                chunk_id = add(client)
                asked = {"query": "tea", "user_id": "ada"}
                trace_id = client.post("/v1/traces", json=asked).json()["trace_id"]
                given = {**example, **({"chunk_id": chunk_id} if "chunk_id" in example else {})}
                if "job_ids" in given:
                    add(client, session_id="later", embed="later")
                    given["job_ids"] = [client.get("/v1/jobs").json()["jobs"][0]["job_id"]]
                named = {"chunk_id": chunk_id, "trace_id": trace_id, "name": "kitchen"}
                if "{older}" in path:
                    named |= {"older": chunk_id, "newer": add(client, session_id="newer")}
                answer = client.request(method, path.format(**named), json=given)
                assert answer.status_code < 300, (path, answer.text)
                tried += 1
    assert tried >= 20


@pytest.mark.parametrize(
    ("path", "method", "elsewhere"),
    [
        ("/v1/search", Memory.search, set[str]()),
        ("/v1/why-not", Memory.why_not, set[str]()),
        ("/v1/memories", Memory.add, {"key", "connection"}),
        ("/v1/memories/{chunk_id}/forget", Memory.forget, {"chunk_id", "key"}),
        ("/v1/memories/{chunk_id}/feedback", Memory.feedback, {"chunk_id", "key"}),
        ("/v1/traces/{trace_id}/replay", TracesResource.replay, {"trace_id"}),
        ("/v1/erasures", Memory.erase, {"by", "key"}),
    ],
)
def test_a_body_has_the_parameters_and_texts_of_python(
    served: Served, path: str, method: Any, elsewhere: set[str]
) -> None:
    document = served.app.openapi()
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    model = schema.get("anyOf", [schema])[0]["$ref"].rpartition("/")[2]
    fields = document["components"]["schemas"][model]["properties"]
    parameters = parameters_of(method)
    texts = {name: parameters[name].text for name in parameters if name not in elsewhere}
    given = {name: field["description"] for name, field in fields.items()}
    if path == "/v1/search":
        # Python makes a hit's matches when they are read; an answer has to be told.
        assert given.pop("matches")
    assert given == texts
    assert all(texts.values())
