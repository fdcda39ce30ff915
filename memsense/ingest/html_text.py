"""Plain text of HTML: paragraphs, list items, rows of tables, without the markup."""

from html.parser import HTMLParser

_BLOCKS = frozenset("p div h1 h2 h3 h4 h5 h6 ul ol pre table blockquote hr section".split())
_LINES = frozenset({"br", "tr"})
_HIDDEN = frozenset({"script", "style", "legacyquote"})


class _TextParser(HTMLParser):
    """A parser that collects the text of a page in pieces."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden_depth = 0
        self._pre_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._hidden_depth += tag in _HIDDEN
        self._pre_depth += tag == "pre"
        if tag in _BLOCKS:
            self.pieces.append("\n\n")
        elif tag in _LINES:
            self.pieces.append("\n")
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        # Closing tags without an opening one occur in pieces that were cut out of a page.
        self._hidden_depth = max(0, self._hidden_depth - (tag in _HIDDEN))
        self._pre_depth = max(0, self._pre_depth - (tag == "pre"))
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden_depth:
            # Outside of <pre> a line end is a blank: the source is wrapped anywhere.
            self.pieces.append(data if self._pre_depth else data.replace("\n", " "))


def html_text(html: str) -> str:
    """Return the text of a piece of HTML, with a blank line between two paragraphs."""
    parser = _TextParser()
    parser.feed(html)
    parser.close()
    lines = (line.rstrip() for line in "".join(parser.pieces).replace("\xa0", " ").split("\n"))
    # Blocks within blocks open and close with blank lines each: one of them is enough.
    spaced: list[str] = []
    for line in lines:
        if line.strip() or (spaced and spaced[-1]):
            spaced.append(line if line.strip() else "")
    return "\n".join(spaced).strip()
