"""The graph route, compared with a second computation, and cases that it must not change."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import networkx as nx  # pyright: ignore[reportMissingTypeStubs]
import psycopg
import pytest
from plans import explain_recall, walk

from memsense import MemSense
from memsense.db import Pool
from memsense.graph import route
from memsense.graph.extraction.naming import question_keys
from memsense.search.profiles import BALANCED, PROFILES, ROUTES, Profile
from memsense.search.question import analyse_question
from memsense.search.recall.candidates import Candidate, Candidates
from memsense.search.recall.optional import ask_optional
from memsense.search.recall.run import RecallRequest, run_recall, shape_of
from memsense.search.recall.statement import Indexed, recall_text
from memsense.search.request import Filters
from memsense.text.lexemes import ask_lexemes

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
NAMES = [
    "Ada", "Lisbon", "Porto", "Maria Silva", "Plagwitz", "TikTok", "Golden Gate Bridge", "Kyoto",
    "WAT-517", "WAT-482", "gauges.py", "Caroline", "Melanie", "Groningen", "Henning", "Kanazawa",
]  # fmt: skip
GRAPH_ALONE = BALANCED.override(name="graph", **{**dict.fromkeys(ROUTES, 0.0), "graph": 1.0})
WITH_GRAPH = BALANCED.override(name="with graph", graph=1.0)


def fill(memory: MemSense, source: random.Random, turns: int, user_id: str = "ada") -> list[int]:
    """Add turns that mention some of the names, the first ones more often; return their ids."""
    weights = [1 / (place + 1) for place in range(len(NAMES))]
    ids: list[int] = []
    for number in range(turns):
        names = source.choices(NAMES, weights, k=source.randrange(4))
        text = f"so we spoke of {' and '.join(names)} at noon" if names else "nothing to say"
        messages = [{"role": "user", "content": text, "at": MAY + timedelta(hours=number)}]
        added = memory.add(messages, user_id=user_id, session_id=f"s{number % 4}")
        ids.append(added[0].chunk_id)
    return ids


def ask(
    url: str, question: str, profile: Profile = GRAPH_ALONE, **options: Any
) -> tuple[RecallRequest, Candidates]:
    given: dict[str, Any] = {"user_id": "ada", "query_vector": None, **options}
    with closing(psycopg.connect(url)) as conn:
        row = conn.execute(
            "SELECT tenant_id FROM memsense.tenants WHERE name = 'default'"
        ).fetchone()
    assert row is not None
    request = RecallRequest(
        tenant_id=row[0],
        namespace="default",
        granularities=("turn", "session"),
        model_id=1,
        terms=ask_lexemes(question, "en", ()),
        profile=profile,
        top_k=50,
        optional=ask_optional(analyse_question(question), profile),
        **given,
    )
    with Pool(url, min_size=1, max_size=1, timeout=10) as pool, pool.connection() as conn:
        return request, run_recall(conn, request)[1]


def graph_hits(candidates: Sequence[Candidate]) -> dict[int, tuple[int, float]]:
    """Return the rank and score in the graph route, by chunk."""
    return {
        item.chunk_id: (hit.rank, hit.score)
        for item in candidates
        for hit in item.routes
        if hit.route == "graph"
    }


def longest_shared(one: str, other: str) -> int:
    """Return the length of the longest common subsequence that leaves out at most one letter of
    each.
    """

    def left_over(name: str) -> Iterator[str]:
        yield name
        yield from (name[:at] + name[at + 1 :] for at in range(len(name)))

    return max((len(text) for text in left_over(one) if text in set(left_over(other))), default=0)


def linked(keys: Mapping[int, str], question: str) -> set[int]:
    """Return the entities that a question names, exactly or with a similarity above 0.8."""
    asked = set(question_keys(question))
    misspelt = asked - set(keys.values())
    found = {entity for entity, key in keys.items() if key in asked}
    for entity, key in keys.items():
        if len(key) >= 5 and not set(key) & set("0123456789_./@#"):
            shared = {2 * longest_shared(key, name) / (len(key) + len(name)) for name in misspelt}
            if shared and max(shared) > 0.8:
                found.add(entity)
    return found


def strongest(edges: Sequence[tuple[int, int, int]], per_entity: int) -> Any:
    """Return the directed graph of every entity's strongest edges."""
    beside: dict[int, list[tuple[int, int]]] = {}
    for one, other, weight in edges:
        beside.setdefault(one, []).append((-weight, other))
        beside.setdefault(other, []).append((-weight, one))
    graph = cast("Any", nx.DiGraph())
    for entity, found in beside.items():
        graph.add_edges_from((entity, other) for _, other in sorted(found)[:per_entity])
    return graph


def expected(
    url: str, question: str, scopes: Sequence[int], per_entity: int, allowed: set[int] | None = None
) -> list[tuple[int, float]]:
    """Compute chunks and scores with networkx and plain arithmetic, best first."""
    with psycopg.connect(url) as conn:
        given = [list(scopes)]
        keys = dict(
            conn.execute(
                "SELECT entity_id, key FROM memsense.entities WHERE scope_id = ANY (%s)", given
            ).fetchall()
        )
        edges = conn.execute(
            "SELECT entity_a, entity_b, weight FROM memsense.edges WHERE scope_id = ANY (%s)", given
        ).fetchall()
        mentions = conn.execute(
            "SELECT entity_id, chunk_id, mention_count FROM memsense.mentions"
            " WHERE scope_id = ANY (%s)",
            given,
        ).fetchall()
    graph = strongest(edges, per_entity)
    hops: dict[int, int] = {}
    for start in linked(keys, question):
        reached = {start: 0}
        if start in graph:
            lengths = nx.single_source_shortest_path_length(graph, start, cutoff=2)
            reached |= cast("dict[int, int]", dict(lengths))
        for entity, hop in reached.items():
            hops[entity] = min(hop, hops.get(entity, hop))
    sums: dict[int, float] = {}
    boosted = {chunk for entity, chunk, _ in mentions if hops.get(entity) == 0}
    for entity, chunk, count in mentions:
        if entity in hops and (allowed is None or chunk in allowed):
            sums[chunk] = sums.get(chunk, 0.0) + count * 0.5 ** hops[entity]
    largest = max(sums.values(), default=1.0)
    scores = {
        chunk: min(value / largest * (1.5 if chunk in boosted else 1.0), 1.0)
        for chunk, value in sums.items()
    }
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def assert_route(url: str, found: Sequence[Candidate], wanted: list[tuple[int, float]]) -> None:
    hits = graph_hits(found)
    ranked = sorted(hits, key=lambda chunk: hits[chunk][0])
    assert [hits[chunk][0] for chunk in ranked] == list(range(1, len(ranked) + 1)), url
    assert ranked == [chunk for chunk, _ in wanted]
    assert [hits[chunk][1] for chunk in ranked] == pytest.approx([score for _, score in wanted])


QUESTIONS = [
    "What about Lisbon?",
    "Did Maria Silva see the Golden Gate Bridge with Ada?",
    "what of ada and tiktok and wat-517",
    "Where did Carolyne and Melany meet Henning?",
    "Is there anything on Groninge or the Golden Gates Bridge?",
    "Which WAT-518 was it?",
    "What about nobody in particular?",
]


@pytest.mark.parametrize("per_entity", [1, 3, 16])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_route_equals_a_breadth_first_search_in_networkx(
    memory: MemSense,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    per_entity: int,
    seed: int,
) -> None:
    monkeypatch.setattr(route, "EDGES", per_entity)
    source = random.Random(seed)
    fill(memory, source, 60)
    fill(memory, source, 20, user_id="ben")
    sizes: list[int] = []
    for question in QUESTIONS:
        for user_id, scopes in (("ada", [1]), (None, [1, 2])):
            wanted = expected(database_url, question, scopes, per_entity)
            _, found = ask(database_url, question, user_id=user_id)
            assert_route(database_url, found, wanted)
            sizes.append(len(wanted))
    assert min(sizes) == 0
    assert max(sizes) > 30


def test_filters_and_exclusions_hold_inside_the_route(memory: MemSense, database_url: str) -> None:
    ids = fill(memory, random.Random(3), 40)
    since = MAY + timedelta(hours=10)
    _, found = ask(database_url, "Lisbon and Ada", filters=Filters(since=since))
    assert_route(
        database_url, found, expected(database_url, "Lisbon and Ada", [1], 16, set(ids[10:]))
    )
    filters = Filters(exclude=ids[::2])
    _, found = ask(database_url, "Lisbon and Ada", filters=filters)
    assert_route(
        database_url, found, expected(database_url, "Lisbon and Ada", [1], 16, set(ids[1::2]))
    )


def test_an_indexed_scope_has_the_same_route(memory: MemSense, database_url: str) -> None:
    ids = fill(memory, random.Random(10), 40)
    indexed: Any = {"indexed": Indexed(1, 1, memory.embedder.dimension)}
    _, found = ask(database_url, "Lisbon and Ada", **indexed)
    assert_route(database_url, found, expected(database_url, "Lisbon and Ada", [1], 16))
    filters = Filters(exclude=ids[::2])
    _, found = ask(database_url, "Lisbon and Ada", filters=filters, **indexed)
    allowed = set(ids[1::2])
    assert_route(database_url, found, expected(database_url, "Lisbon and Ada", [1], 16, allowed))


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Where is Carolne now?", True),
        ("Where is Caroline's now?", True),
        ("Where is carolines now?", True),
        ("Where is Karoline now?", True),
        ("Where is Carol now?", False),
        ("Where is Carlotta now?", False),
        ("Who closed WAT-519?", False),
        ("Who closed wat-517?", True),
    ],
)
def test_misspelt_names_are_linked_but_identifiers_must_be_exact(
    memory: MemSense, database_url: str, question: str, found: bool
) -> None:
    say = [{"role": "user", "content": "it was Caroline who closed WAT-517", "at": MAY}]
    memory.add(say, user_id="ada", session_id="one")
    assert bool(graph_hits(ask(database_url, question)[1])) is found


def test_without_weight_the_route_is_not_in_the_statement_and_changes_nothing(
    memory: MemSense, database_url: str
) -> None:
    fill(memory, random.Random(4), 30)
    request, before = ask(database_url, "Lisbon and Ada", BALANCED)
    statement = recall_text(shape_of(request))
    assert "graph" not in statement
    hits = memory.search("Where was Ada, in Lisbon?", user_id="ada")
    with psycopg.connect(database_url) as conn:
        conn.execute("TRUNCATE memsense.edges, memsense.mentions, memsense.entities")
    _, after = ask(database_url, "Lisbon and Ada", BALANCED)
    assert [(item.chunk_id, item.rrf_score, item.routes) for item in after] == [
        (item.chunk_id, item.rrf_score, item.routes) for item in before
    ]
    again = memory.search("Where was Ada, in Lisbon?", user_id="ada")
    assert [(h.chunk_id, h.score) for h in again] == [(h.chunk_id, h.score) for h in hits]


def test_a_setting_turns_the_route_on_for_the_next_search(memory: MemSense) -> None:
    fill(memory, random.Random(9), 30)

    def runs() -> bool:
        hits = memory.search("Where is Lisbon?", user_id="ada", granularity="turn")
        return any(part.route == "graph" for hit in hits for part in hit.explain.routes)

    assert not runs()
    memory.settings.set(graph=0.5)
    assert runs()
    memory.settings.reset("graph")
    assert not runs()


def test_no_shipped_profile_runs_the_route() -> None:
    assert {name: profile.weights["graph"] for name, profile in PROFILES.items()} == dict.fromkeys(
        PROFILES, 0.0
    )


def test_a_question_that_may_name_nothing_runs_no_graph_route(
    memory: MemSense, database_url: str
) -> None:
    fill(memory, random.Random(5), 5)
    request, _ = ask(database_url, "what is it?", WITH_GRAPH)
    assert not shape_of(request).optional
    request, _ = ask(database_url, "what is Lisbon?", WITH_GRAPH)
    assert shape_of(request).optional == ("graph",)


def test_a_hit_shows_the_graph_routes_part_of_its_score(memory: MemSense) -> None:
    fill(memory, random.Random(6), 30)
    result = memory.search("Where is Kyoto?", user_id="ada", profile=WITH_GRAPH, granularity="turn")
    parts = [part for hit in result for part in hit.explain.routes if part.route == "graph"]
    assert parts
    for part in parts:
        assert part.score_kind == "graph"
        assert 0 < part.score <= 1
        assert part.contribution == pytest.approx(1.0 / (WITH_GRAPH.rrf_k + part.rank))


def test_a_forgotten_chunk_is_not_reached_and_no_longer_a_bridge(
    memory: MemSense, database_url: str
) -> None:
    def add(text: str) -> int:
        messages = [{"role": "user", "content": text, "at": datetime.now(UTC)}]
        return memory.add(messages, user_id="ada", session_id="one")[0].chunk_id

    first = add("we saw Lisbon with Henning")
    bridge = add("so Henning knows Kanazawa well")
    far = add("and Kanazawa is wet")
    assert set(graph_hits(ask(database_url, "Lisbon?")[1])) == {first, bridge, far}
    memory.forget(bridge)
    assert set(graph_hits(ask(database_url, "Lisbon?")[1])) == {first}
    memory.restore(bridge)
    assert set(graph_hits(ask(database_url, "Lisbon?")[1])) == {first, bridge, far}


def test_the_route_stays_within_its_tenant_and_user(
    open_memory: OpenMemory, database_url: str
) -> None:
    for tenant, user_id in (("default", "ada"), ("default", "ben"), ("other", "ada")):
        fill(open_memory(tenant=tenant), random.Random(7), 12, user_id=user_id)
    _, found = ask(database_url, "Lisbon and Ada")
    with psycopg.connect(database_url) as conn:
        own = conn.execute(
            "SELECT chunk_id FROM memsense.chunks WHERE tenant_id = 1 AND scope_id = 1"
        ).fetchall()
    assert set(graph_hits(found)) <= {chunk for (chunk,) in own}
    assert_route(database_url, found, expected(database_url, "Lisbon and Ada", [1], 16))


def test_traces_replay_and_why_not_know_the_route(memory: MemSense) -> None:
    ids = fill(memory, random.Random(8), 30)
    profile = GRAPH_ALONE.override(
        list_depth=1, least_candidates=4, least_route_limit=4, candidate_factor=1
    )
    result = memory.search(
        "Where is Lisbon?", user_id="ada", profile=profile, granularity="turn", top_k=2, trace=True
    )
    assert result.trace_id is not None
    replay = memory.traces.replay(result.trace_id)
    assert len(result) == 2
    assert replay.is_unchanged
    assert [hit.chunk_id for hit in replay.new] == [hit.chunk_id for hit in result]
    trace = memory.traces.get(result.trace_id)
    assert {route for item in trace.candidates for route in item.routes or ()} == {"graph"}
    silent = next(chunk for chunk in ids if "nothing to say" in memory.get(chunk).content)
    options: Any = {"user_id": "ada", "profile": profile, "granularity": "turn", "top_k": 2}
    verdict = memory.why_not("Where is Lisbon?", silent, **options)
    assert (verdict.step, verdict.numbers["places"]) == ("no_route", {})
    places = [
        memory.why_not("Where is Lisbon?", chunk, **options).numbers.get("places", {})
        for chunk in ids
    ]
    assert any(place.get("graph", 0) > 4 for place in places)


def test_the_tables_of_a_large_store_are_read_by_their_indexes(
    memory: MemSense, database_url: str
) -> None:
    memory.add(
        [{"role": "user", "content": "we saw Lisbon with Henning", "at": MAY}],
        user_id="ada",
        session_id="one",
    )
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO memsense.scopes (tenant_id, scope_id, namespace_id, user_id)"
            " SELECT 1, 1000 + n, 1, 'user' || n FROM generate_series(1, 20) AS n"
        )
        conn.execute(
            "INSERT INTO memsense.entities (tenant_id, scope_id, entity_id, key, mention_count)"
            " SELECT 1, 1001 + n % 20, 1000 + n, 'entity ' || md5(n::text), 1"
            " FROM generate_series(1, 20000) AS n"
        )
        conn.execute(
            "INSERT INTO memsense.edges (tenant_id, scope_id, entity_a, entity_b, weight)"
            " SELECT 1, 1001 + n % 20, 1000 + n, 1000 + n + 20 * m, 1"
            " FROM generate_series(1, 19000) AS n, generate_series(1, 5) AS m"
        )
        conn.execute("VACUUM ANALYZE")
    request, found = ask(database_url, "Where is Lisbn?", WITH_GRAPH)
    assert graph_hits(found)
    with psycopg.connect(database_url) as conn:
        nodes = list(walk(explain_recall(conn, request)))
    used = {node["Index Name"] for node in nodes if "Index Name" in node}
    assert {"entities_scope_spellings", "edges_pkey", "edges_entity_b"} <= used
    scanned = {node.get("Relation Name") for node in nodes if node["Node Type"] == "Seq Scan"}
    assert not scanned & {"entities", "edges"}
