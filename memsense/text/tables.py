"""Tables of text that stay readable at any width: columns where there is room, else blocks.

Where the columns fit, it is a table; where they don't, each row is a block of lines. No word and
no number is ever cut: what is longer than a whole line alone is folded.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PROSE = 24
"""A column of words is at least so wide, or as wide as its longest text."""

_COLUMN = 3
"""What a column takes beside its text: blanks and the gap to the next one."""

_INDENT = 2
_GAP = "   "


@dataclass(slots=True)
class TextTable:
    """Rows of texts under headings; the columns named in `right` hold numbers.

    Where it is wider than what it is printed on, `otherwise` stands for it, or else a block a row.
    `caption` is a line below it.
    """

    headings: Sequence[str]
    title: str | None = None
    right: Sequence[str] = ()
    otherwise: "TextTable | None" = None
    caption: str = ""
    rows: list[tuple[Sequence[Text], str]] = field(default_factory=list[tuple[Sequence[Text], str]])
    sections: set[int] = field(default_factory=set[int])

    def add_row(self, *cells: object, style: str | None = None) -> None:
        """Add a row of texts as they are: nothing in them is markup."""
        texts = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells]
        self.rows.append((texts, style or ""))

    def add_section(self) -> None:
        """Draw a line below the last row."""
        self.sections.add(len(self.rows) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The form that the width has room for."""
        widths = _share(self._needs(), options.max_width - _COLUMN * len(self.headings) - 1)
        if widths:
            yield self._columns(widths)
        elif self.otherwise is not None:
            yield self.otherwise
            return
        else:
            yield from self._blocks(options.max_width)
        if self.caption:
            yield Padding(Text(self.caption, style="italic dim"), (0, 0, 0, _INDENT), expand=False)

    def _needs(self) -> list[tuple[int, int]]:
        """The least and the natural width of each column."""
        found: list[tuple[int, int]] = []
        for index, heading in enumerate(self.headings):
            texts = [heading, *(cells[index].plain for cells, _ in self.rows)]
            natural = max(_line_width(text) for text in texts)
            word = max((cell_len(word) for text in texts for word in text.split()), default=0)
            least = natural if heading in self.right else max(word, min(natural, PROSE))
            found.append((least, natural))
        return found

    def _columns(self, widths: Sequence[int]) -> Table:
        made = Table(
            box=box.SIMPLE_HEAD, title=self.title, title_justify="left", title_style="bold"
        )
        for heading, width in zip(self.headings, widths, strict=True):
            justify = "right" if heading in self.right else "left"
            made.add_column(Text(heading), justify=justify, overflow="fold", width=width)
        for index, (cells, style) in enumerate(self.rows):
            made.add_row(*cells, style=style, end_section=index in self.sections)
        return made

    def _blocks(self, width: int) -> RenderResult:
        if self.title:
            yield Text(self.title, style="bold")
        for cells, style in self.rows:
            first, *others = self._labelled(cells)
            yield Text.assemble(first, style=style or "bold")
            for line in _pack(others, width - _INDENT):
                yield Padding(Text.assemble(line, style=style), (0, 0, 0, _INDENT), expand=False)

    def _labelled(self, cells: Sequence[Text]) -> list[Text]:
        """The cells that hold something, each with its heading; a pair is name and value."""
        pairs = zip(self.headings, cells, strict=True)
        (_, first), *others = held = [pair for pair in pairs if pair[1].plain.strip()] or [
            ("", Text())
        ]
        if len(self.headings) == len(held) == 2:  # noqa: PLR2004
            return [Text.assemble(first, ": ", *(cell for _, cell in others))]
        return [
            Text.assemble((f"{held[0][0]} ".lstrip(), "dim"), first),
            *(Text.assemble((_label(heading, cell), "dim"), cell) for heading, cell in others),
        ]


def as_text(made: TextTable, width: int) -> str:
    """The table as plain text of at most so many columns, for a prompt or a file."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, highlight=False, emoji=False).print(made)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _label(heading: str, cell: Text) -> str:
    if not heading:
        return ""
    return f"{heading}:\n" if "\n" in cell.plain else f"{heading}: "


def _line_width(text: str) -> int:
    return max((cell_len(line) for line in text.splitlines()), default=0)


def _share(needs: Sequence[tuple[int, int]], room: int) -> list[int]:
    """Each column's width: its least, and of the rest as much as it can use; [] without room."""
    widths = [least for least, _ in needs]
    spare = room - sum(widths)
    if spare < 0:
        return []
    wanting = sorted(range(len(needs)), key=lambda i: needs[i][1] - needs[i][0])
    for place, index in enumerate(wanting):
        given = min(needs[index][1] - needs[index][0], spare // (len(wanting) - place))
        widths[index] += given
        spare -= given
    return widths


def _pack(texts: Iterable[Text], width: int) -> Iterable[Text]:
    """The texts in order, as many on a line as fit."""
    line = Text()
    for text in texts:
        joined = Text(_GAP).join([line, text]) if line.plain else text
        if line.plain and ("\n" in joined.plain or cell_len(joined.plain) > width):
            yield line
            joined = text
        line = joined
    if line.plain:
        yield line
