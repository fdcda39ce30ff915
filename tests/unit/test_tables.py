"""Tables at every width: columns or blocks, and never half a word or half a number."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from memsense.cli.render import shorten
from memsense.text.tables import TextTable, as_text

WORDS = st.text(alphabet="abcdefgh0123456789.", min_size=1, max_size=20)
CELLS = st.lists(WORDS, max_size=8).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> TextTable:
    headings = draw(st.lists(WORDS, min_size=1, max_size=8, unique=True))
    made = TextTable(headings, right=headings[: draw(st.integers(0, 2))])
    for _ in range(draw(st.integers(0, 4))):
        made.add_row(*(draw(CELLS) for _ in headings))
    return made


def words_of(made: TextTable) -> Counter[str]:
    return Counter(word for cells, _ in made.rows for cell in cells for word in cell.plain.split())


@given(tables(), st.integers(40, 240))
def test_every_word_of_a_table_is_printed_whole_and_within_the_width(
    made: TextTable, width: int
) -> None:
    lines = as_text(made, width).splitlines()
    assert all(len(line) <= width for line in lines)
    printed = Counter(word for line in lines for word in line.split())
    printed += Counter(word[:-1] for word in printed.elements() if word.endswith(":"))
    assert not words_of(made) - printed


def test_a_table_that_does_not_fit_is_a_block_a_row() -> None:
    made = TextTable(("user", "exchanges", "note"), right=("exchanges",))
    made.add_row("ines", 1177, "from the first of March to the last of April")
    assert as_text(made, 80).split("\n")[1].split() == ["user", "exchanges", "note"]
    assert as_text(made, 40).splitlines() == [
        "user ines",
        "  exchanges: 1177",
        "  note: from the first of March to the",
        "  last of April",
    ]


def test_a_wide_pair_is_printed_as_name_and_value_below_each_other() -> None:
    made = TextTable(("field", "value"))
    made.add_row("source", "a" * 35)
    assert as_text(made, 40).splitlines() == ["source:", "a" * 35]


def test_a_table_that_does_not_fit_is_replaced_by_another_one() -> None:
    made = TextTable(("part", "how", "adds"), otherwise=TextTable(("part", "adds")))
    made.add_row("a" * 30, "b" * 30, "0.1")
    assert made.otherwise is not None
    made.otherwise.add_row("a" * 30, "0.1")
    assert "b" * 30 in as_text(made, 100)
    assert "b" * 30 not in as_text(made, 50)


def test_a_cell_of_a_table_is_no_markup() -> None:
    made = TextTable(("a",))
    made.add_row(Text("[red]x[/red]"))
    made.add_row("[bold]y")
    assert "[red]x[/red]" in as_text(made, 60)
    assert "[bold]y" in as_text(made, 60)


@given(st.text(alphabet="ab 0123456789.,", min_size=1), st.integers(2, 40))
def test_a_shortened_text_never_ends_in_half_a_number(text: str, width: int) -> None:
    line = " ".join(text.split())
    shown = shorten(text, width)
    if shown != line:
        kept = shown[:-1]
        rest = line[len(kept) :]
        assert not (kept[-1:].isdigit() and rest[0].isdigit())
