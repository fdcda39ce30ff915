"""Excerpts of texts within a budget: around the words of the question, and never longer."""

from hypothesis import given
from hypothesis import strategies as st

from memsense.search.excerpt import ELLIPSIS, fit_text
from memsense.search.show import Piece, fit_session

WORDS = st.sampled_from(["tea", "river", "a", "lantern", "\n", "wintertime", "…"])
TEXTS = st.lists(WORDS, max_size=80).map(" ".join)
BUDGETS = st.integers(1, 300)


@given(TEXTS, BUDGETS, st.lists(st.sampled_from(["tea", "wint", ""]), max_size=2))
def test_a_text_is_never_longer_than_its_budget_and_says_when_it_is_cut(
    text: str, budget: int, words: list[str]
) -> None:
    shown = fit_text(text, budget, words)
    assert len(shown.text) <= budget
    assert shown.cut == (len(text) > budget)
    assert shown.cut or shown.text == text
    inner = shown.text.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS) if shown.cut else text
    assert inner in text


@given(st.integers(0, 400), st.integers(0, 400), st.integers(40, 200))
def test_a_cut_text_holds_the_words_asked_for(before: int, after: int, budget: int) -> None:
    text = f"{'and so on ' * before}allergic to latex{' and on' * after}"
    assert "allergic to latex" in fit_text(text, budget, ["latex", "allerg"]).text


def test_the_stretch_with_more_of_the_words_wins() -> None:
    text = f"tea tea tea {'. ' * 100} tea by the river {'. ' * 100} river river"
    assert "tea by the river" in fit_text(text, 40, ["tea", "river"]).text


@given(
    st.lists(TEXTS, min_size=1, max_size=12),
    st.lists(st.integers(0, 11), unique=True, max_size=5),
    st.integers(0, 3),
    BUDGETS,
)
def test_a_session_is_shown_in_its_order_within_the_budget(
    texts: list[str], best: list[int], more: int, budget: int
) -> None:
    pieces = [
        Piece(number, text, best.index(number - 1) if number - 1 in best else None)
        for number, text in enumerate(texts, start=1)
    ]
    shown = fit_session(pieces, len(texts) + more, budget, ["tea"])
    assert len(shown.text) <= budget
    assert list(shown.pieces) == sorted(shown.pieces)
    whole = "\n".join(texts)
    assert shown.cut or shown.text == whole
    assert not shown.cut or more or len(whole) > budget
    if shown.cut and budget > 1:
        assert ELLIPSIS in shown.text


def test_the_best_exchanges_come_before_what_stands_beside_them() -> None:
    texts = [f"exchange {number} {'x' * 80}" for number in range(1, 31)]
    best = {25: 0, 5: 1}
    pieces = [Piece(n, text, best.get(n)) for n, text in enumerate(texts, start=1)]
    shown = fit_session(pieces, 30, 500, [])
    assert {5, 25} <= {*shown.pieces}
    assert shown.text.startswith(ELLIPSIS)
    assert shown.text.index("exchange 5 ") < shown.text.index("exchange 25 ")
    assert {*shown.pieces} <= {4, 5, 6, 24, 25, 26}
    one = fit_session(pieces, 30, 120, [])
    assert list(one.pieces) == [25]
    assert one.text == f"{ELLIPSIS}\n{texts[24]}\n{ELLIPSIS}"


def test_nothing_is_marked_as_left_out_between_what_stands_side_by_side() -> None:
    pieces = [Piece(n, f"said {n}", 0 if n == 2 else None) for n in (1, 2, 3)]
    assert fit_session(pieces, 3, 100, []).text == "said 1\nsaid 2\nsaid 3"
    assert fit_session(pieces, 9, 100, []).text == "said 1\nsaid 2\nsaid 3\n…"
