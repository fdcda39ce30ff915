"""Tables of text that stay readable at any width.

If the columns fit, it is a table; if they don't, each row is a block of lines. No word and no
number is ever cut; only one that is longer than a whole line is folded.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PROSE = 24
"""Least width of a column of words, unless its longest text is narrower."""

_COLUMN = 3
"""Width of a column in addition to its text: blanks and the gap to the next one."""

_INDENT = 2
_GAP = "   "


@dataclass(slots=True)
class TextTable:
    """Rows of texts under headings.

    Args:
        headings: Names of the columns.
        title: Line above the table.
        right: Columns of numbers, which are aligned to the right and never wrapped.
        otherwise: Table to print instead where this one is too wide; by default each row becomes a
            block of lines.
        caption: Line below the table.
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
        """Yield the form for which there is room."""
        widths = self._fit_widths(options.max_width - _COLUMN * len(self.headings) - 1)
        if widths:
            table = Table(
                box=box.SIMPLE_HEAD, title=self.title, title_justify="left", title_style="bold"
            )
            for heading, width in zip(self.headings, widths, strict=True):
                justify = "right" if heading in self.right else "left"
                table.add_column(Text(heading), justify=justify, overflow="fold", width=width)
            for index, (cells, style) in enumerate(self.rows):
                table.add_row(*cells, style=style, end_section=index in self.sections)
            yield table
        elif self.otherwise is not None:
            yield self.otherwise
            return
        else:
            yield from self._format_blocks(options.max_width)
        if self.caption:
            yield Padding(Text(self.caption, style="italic dim"), (0, 0, 0, _INDENT), expand=False)

    def _fit_widths(self, room: int) -> list[int]:
        """Return each column's width; empty if there is no room for all."""
        # The least width of each column, and how much more it could use.
        widths: list[int] = []
        wishes: list[int] = []
        for index, heading in enumerate(self.headings):
            texts = [heading, *(cells[index].plain for cells, _ in self.rows)]
            lines = (line for text in texts for line in text.splitlines())
            natural = max(map(cell_len, lines), default=0)
            word = max((cell_len(word) for text in texts for word in text.split()), default=0)
            least = natural if heading in self.right else max(word, min(natural, PROSE))
            widths.append(least)
            wishes.append(natural - least)
        spare = room - sum(widths)
        if spare < 0:
            return []
        # The spare room is shared evenly; what a narrow column doesn't use goes to the wider ones.
        by_wish = sorted(range(len(widths)), key=lambda index: wishes[index])
        for position, index in enumerate(by_wish):
            share = min(wishes[index], spare // (len(by_wish) - position))
            widths[index] += share
            spare -= share
        return widths

    def _format_blocks(self, width: int) -> RenderResult:
        if self.title:
            yield Text(self.title, style="bold")
        for cells, style in self.rows:
            first, *others = self._label_cells(cells)
            yield Text.assemble(first, style=style or "bold")
            # As many of the other cells on a line as fit; a cell of several lines gets its own.
            line = Text()
            lines: list[Text] = []
            for text in others:
                longer = Text(_GAP).join([line, text]) if line.plain else text
                is_full = "\n" in longer.plain or cell_len(longer.plain) > width - _INDENT
                if line.plain and is_full:
                    lines.append(line)
                    longer = text
                line = longer
            if line.plain:
                lines.append(line)
            for text in lines:
                yield Padding(Text.assemble(text, style=style), (0, 0, 0, _INDENT), expand=False)

    def _label_cells(self, cells: Sequence[Text]) -> list[Text]:
        """Return the cells that are not empty, each with its heading; of two, "name: value"."""
        pairs = zip(self.headings, cells, strict=True)
        filled = [pair for pair in pairs if pair[1].plain.strip()] or [("", Text())]
        (first_heading, first), *others = filled
        if len(self.headings) == len(filled) == 2:  # noqa: PLR2004
            return [Text.assemble(first, ": ", *(cell for _, cell in others))]
        texts = [Text.assemble((f"{first_heading} ".lstrip(), "dim"), first)]
        for heading, cell in others:
            separator = ":\n" if "\n" in cell.plain else ": "
            label = f"{heading}{separator}" if heading else ""
            texts.append(Text.assemble((label, "dim"), cell))
        return texts


def as_text(table: TextTable, width: int) -> str:
    """Return the table as plain text of at most `width` columns, for a prompt or a file."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, highlight=False, emoji=False).print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
