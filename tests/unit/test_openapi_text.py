"""The OpenAPI text: valid, with names that stay, and with all that the last release had."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from memsense.server.app import describe_api

RELEASED = Path(__file__).parents[1] / "data" / "openapi_released.txt"
"""Parameters, fields and values of each operation of the last release, version 0.2.0.

`MEMSENSE_REWRITE=1 pytest tests/unit/test_openapi_text.py` writes it anew: run it at each release.
"""

LEFT = {
    f"body.{name}"
    for name in (
        *("asked_name_weight", "asks_weight", "event_weight", "neighbour_weight"),
        *("session_weight", "speaker_bonus", "tokens_near_weight", "tokens_other_weight"),
        "when_time_weight",
    )
}
"""Constants of terms that left the score after 0.2.0: requests that name one are refused."""

Document = Mapping[str, Any]


def follow(document: Document, item: Document) -> Document:
    """Return an item, or what its `$ref` names."""
    while "$ref" in item:
        item = reduce(lambda node, key: node[key], item["$ref"][2:].split("/"), document)
    return item


def places_of(
    document: Document, schema: Document, at: str, above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield each field of a schema and each value of its enumerations, at any depth."""
    if "$ref" in schema:
        if schema["$ref"] in above:
            return
        above = (*above, schema["$ref"])
        schema = follow(document, schema)
    constant = [schema["const"]] if "const" in schema else []
    yield from (f"{at}={value}".replace(" ", "_") for value in schema.get("enum", constant))
    for member in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from places_of(document, member, at, above)
    if isinstance(schema.get("items"), dict):
        yield from places_of(document, schema["items"], f"{at}[]", above)
    for name, field in schema.get("properties", {}).items():
        yield f"{at}.{name}"
        yield from places_of(document, field, f"{at}.{name}", above)


def places_in(document: Document) -> Mapping[str, set[str]]:
    """Return parameters, fields, statuses and values by operation."""
    found: dict[str, set[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            places = found[f"{method.upper()} {path} {operation['operationId']}"] = set[str]()
            for parameter in operation.get("parameters", ()):
                item = follow(document, parameter)
                place = f"{item['in']}.{item['name']}"
                places.update([place, *places_of(document, item["schema"], place)])
            for content in operation.get("requestBody", {}).get("content", {}).values():
                places.update(places_of(document, content["schema"], "body"))
            for status, response in operation["responses"].items():
                places.add(status)
                if status.startswith("2"):
                    for content in follow(document, response).get("content", {}).values():
                        places.update(places_of(document, content["schema"], "answer"))
    return found


def test_nothing_of_the_last_release_has_gone() -> None:
    now = places_in(describe_api())
    if os.environ.get("MEMSENSE_REWRITE"):
        lines = [f"{name}: {' '.join(sorted(places))}\n" for name, places in now.items()]
        RELEASED.write_text("".join(lines))
    lines = RELEASED.read_text().splitlines()
    assert len(lines) > 90
    for line in lines:
        operation, _, places = line.partition(": ")
        assert set(places.split(" ")) - LEFT <= now[operation], operation


def test_every_reference_leads_somewhere() -> None:
    document = describe_api()
    for reference in set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document))):
        follow(document, {"$ref": reference})  # raises KeyError if nothing is there


def test_names_of_schemas_are_classes_and_ids_are_unique() -> None:
    document = describe_api()
    # Two different classes of one name would get their module's name, too.
    for name in document["components"]["schemas"]:
        assert name[0].isupper(), name
        assert name.isalnum(), name
    ids = [it["operationId"] for item in document["paths"].values() for it in item.values()]
    assert len(set(ids)) == len(ids)
    assert all(name.isidentifier() for name in ids)


def test_every_error_is_a_problem_that_is_written_once() -> None:
    document = describe_api()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if not status.startswith(("2", "3")):
                    assert response == {"$ref": f"#/components/responses/Problem{status}"}, path
    for response in document["components"]["responses"].values():
        assert list(response["content"]) == ["application/problem+json"]


def test_health_alone_needs_no_key() -> None:
    document = describe_api()
    assert document["security"] == [{"key": []}]
    open_paths = {
        path
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if operation.get("security") == []
    }
    assert open_paths == {"/health/live", "/health/ready"}


def test_posts_that_change_nothing_are_marked_as_safe() -> None:
    operations = [it for item in describe_api()["paths"].values() for it in item.values()]
    assert {it["operationId"] for it in operations if it.get("x-memsense-safe")} == {
        *("search", "search_many", "context", "why_not", "matching_words"),
        *("traces_replay", "traces_compare", "questions_compare"),
    }
