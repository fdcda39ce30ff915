"""Output and arguments of the command line, without a database."""

import io
import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memsense import errors
from memsense.cli import app
from memsense.cli.exits import exit_code, one_line
from memsense.cli.render import excerpt, plain, print_json, shorten, when
from memsense.cli.values import TEXT_SETTINGS, read_overrides, read_settings
from memsense.search.explanation import (
    Explanation,
    RouteContribution,
    Selection,
    SessionSupport,
    Term,
    WordMatch,
    arithmetic_table,
    match_line,
    round_to_total,
    selection_line,
)
from memsense.search.profiles import PROFILES, ROUTES
from memsense.search.settings import CHOICES, TIMEZONE

finite = st.floats(min_value=-5, max_value=5, allow_nan=False)


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    k = draw(st.sampled_from([1.0, 15.0, 60.0]))
    routes = tuple(
        RouteContribution(
            route=route,
            rank=rank,
            score=draw(finite),
            score_kind="bm25f" if route == "lexical" else "cosine",
            weight=weight,
            contribution=weight / (k + rank),
        )
        for route in draw(st.lists(st.sampled_from(ROUTES), unique=True))
        for rank in [draw(st.integers(1, 400))]
        for weight in [draw(st.floats(0.1, 5))]
    )
    terms = tuple(
        Term(name=name, value=value, weight=0.3, contribution=0.3 * value)
        for name in draw(st.sets(st.sampled_from(["memory_score", "date", "speaker"])))
        for value in [draw(finite)]
    )
    support = draw(st.none() | st.floats(0, 0.12))
    session = (
        SessionSupport(session_rrf_score=0.1, turn_support=support, supporting_turn_count=2)
        if support is not None
        else None
    )
    rrf_score = sum(route.contribution for route in routes)
    added = sum(term.contribution for term in terms)
    return Explanation(
        chunk_id=7,
        routes=routes,
        rrf_score=rrf_score,
        rrf_k=k,
        terms=terms,
        session=session,
        final_score=rrf_score + (support or 0.0) + added,
    )


def printed(explanation: Explanation) -> list[list[str]]:
    """Return the printed cells of the table, one list per row, without the bars."""
    stream = io.StringIO()
    Console(file=stream, width=400, highlight=False).print(arithmetic_table(explanation, {}))
    rows = [line.replace("█", "").split() for line in stream.getvalue().splitlines()]
    return [row for row in rows if row and row[0] not in {"part", "MMR,"} and "─" not in row[0]]


@given(explanations())
def test_the_printed_parts_add_up_to_the_printed_score(explanation: Explanation) -> None:
    *parts, total = printed(explanation)
    assert total[0] == "score"
    assert len(parts) == len(explanation.parts())
    assert round(math.fsum(float(part[-1]) for part in parts), 4) == float(total[-1])
    assert float(total[-1]) == pytest.approx(explanation.final_score, abs=0.5e-4 + 1e-9)


@given(st.lists(finite, max_size=12), st.integers(1, 6))
def test_rounded_values_add_up_and_stay_within_one_unit(values: list[float], digits: int) -> None:
    rounded = round_to_total(values, digits=digits)
    unit = 10.0**-digits
    assert math.fsum(rounded) == pytest.approx(math.fsum(values), abs=unit / 2 + 1e-9)
    for value, shown in zip(values, rounded, strict=True):
        assert abs(value - shown) < unit + 1e-9


def test_a_scaled_route_prints_its_scale() -> None:
    route = RouteContribution(
        route="lexical", rank=5, score=1.0, score_kind="bm25f", weight=2, contribution=0.05
    )
    explanation = Explanation(
        chunk_id=1, routes=[route], rrf_score=0.05, rrf_k=15, terms=(), session=None,
        final_score=0.05,
    )  # fmt: skip
    assert "0.5 · weight 2 / (15 + 5)" in " ".join(printed(explanation)[0])


def test_the_selection_names_the_hit_that_is_nearest() -> None:
    step = Selection(
        selected_rank=2, relevance=0.5, max_redundancy=0.25, against=40, mmr_lambda=0.78,
        mmr_score=0.78 * 0.5 - 0.22 * 0.25,
    )  # fmt: skip
    assert selection_line(step, {40: 1}) == (
        "MMR, choice 2: 0.78 · relevance 0.5000 - 0.22 · redundancy 0.2500 (hit 1) = 0.3350"
    )
    assert "(chunk 40)" in selection_line(step, {})


def test_texts_cannot_steer_the_terminal() -> None:
    assert plain("a\x1b[31mred\x07\x9b2J\tb\nc") == "a\ufffd[31mred\ufffd2J\tb\nc"
    assert "\x1b" not in excerpt("user: \x1b]0;title\x07", ["title"], 100)


def test_an_excerpt_of_a_long_text_begins_where_the_question_is_answered() -> None:
    content = "\n".join([*(f"line {i} of no interest" for i in range(20)), "user: I like hiking."])
    assert excerpt(content, ["hike", "hik"], 60) == "… user: I like hiking."
    assert excerpt("short\ntext", ["text"], 60) == "short\ntext"
    assert excerpt("", ["text"], 60) == ""


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_is_one_line_of_at_most_the_width(text: str, width: int) -> None:
    line = shorten(text, width)
    assert len(line) <= width
    assert "\n" not in line


def test_a_time_without_a_known_zone_shows_none() -> None:
    moment = datetime(2025, 3, 6, 11, 46, tzinfo=UTC)
    assert when(moment) == "2025-03-06 11:46 UTC"
    assert when(moment, zone_known=False) == "2025-03-06 11:46"
    assert when(None) == "-"


def test_times_in_json_are_iso_8601(capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime(2025, 3, 6, 11, 46, tzinfo=timezone(timedelta(hours=1)))
    print_json({"at": moment, "text": "Grüße"})
    output = capsys.readouterr().out
    assert json.loads(output) == {"at": "2025-03-06T11:46:00+01:00", "text": "Grüße"}
    assert "Grüße" in output


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigurationError, 2),
        (errors.ConnectionFailedError, 2),
        (errors.ServerTooOldError, 2),
        (errors.SchemaError, 2),
        (errors.ModelMismatchError, 2),
        (errors.InvalidInputError, 2),
        (errors.DatabaseError, 1),
        (errors.EmbeddingError, 1),
        (errors.EvaluationError, 1),
        (errors.IngestError, 1),
        (errors.NotFoundError, 1),
    ],
)
def test_each_error_has_its_exit_code_and_is_one_line(
    error: type[errors.MemSenseError], code: int
) -> None:
    raised = error("first\n  second")
    assert exit_code(raised) == code
    assert one_line(raised) == "memsense: first second"


def test_ctrl_c_ends_in_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memsense.cli.chunks.stats", interrupt)
    with pytest.raises(SystemExit) as ended:
        app.root(args=["stats"], prog_name="memsense")
    assert ended.value.code == 130


def test_global_options_are_found_anywhere_but_behind_two_dashes() -> None:
    given = ["search", "hi", "--namespace", "demo", "-k", "3", "--tenant=acme"]
    assert app.hoist_global_options(given) == [
        "--namespace", "demo", "--tenant=acme", "search", "hi", "-k", "3",
    ]  # fmt: skip
    literal = ["search", "--", "--namespace", "what is it?"]
    assert app.hoist_global_options(literal) == literal
    assert app.hoist_global_options(["stats", "--tenant"]) == ["--tenant", "stats"]


def test_changes_and_left_out_routes_make_the_profile() -> None:
    changes = read_overrides(["lexical=1.5", "candidate_factor=8"], ["vec_user"])
    profile = PROFILES["memsense"].vary(changes)
    assert profile.weights["lexical"] == 1.5
    assert profile.weights["vec_user"] == 0
    assert profile.candidate_factor == 8
    assert profile.name == "memsense (lexical=1.5, candidate_factor=8, vec_user=0.0)"
    assert read_overrides(["names_removed=yes"], []) == {"names_removed": True}


def test_settings_are_read_as_constants_are_but_names_as_they_are_written() -> None:
    assert read_settings(["profile=2", "lexical=2", "names_removed=no", "b = 0.5"]) == {
        "profile": "2",
        "lexical": 2,
        "names_removed": False,
        "b": 0.5,
    }
    with pytest.raises(typer.BadParameter, match="is not NAME=VALUE"):
        read_settings(["profile"])


def test_every_setting_that_is_not_a_constant_takes_its_values() -> None:
    assert {"profile", "redact_kinds", TIMEZONE, *CHOICES} == TEXT_SETTINGS
    for name, values in CHOICES.items():
        assert read_settings([f"{name}={values[0]}"]) == {name: values[0]}


@pytest.mark.parametrize(
    "change",
    ["lexical", "lexical=", "lexical=much", "names_removed=3", "lexical_mode=2", "k1=yes"],
)
def test_a_change_that_cannot_be_read_is_wrong_usage(change: str) -> None:
    with pytest.raises(typer.BadParameter):
        read_overrides([change], [])


def test_matched_words_are_listed_by_their_share_of_the_score() -> None:
    matches = [
        WordMatch(asked=asked, met=met, similarity=similarity, share=share)
        for asked, met, similarity, share in (
            ("where", "in", 0.2, 0.3),
            ("live", "moved", 0.4, 0.7),
        )
    ]
    assert match_line(matches) == "words that met: live → moved 0.40"
