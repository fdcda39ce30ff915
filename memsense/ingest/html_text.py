"""Turns HTML into plain text: paragraphs, list items, rows of tables; nothing of its markup."""

from html.parser import HTMLParser

_BLOCKS = frozenset("p div h1 h2 h3 h4 h5 h6 ul ol pre table blockquote hr section".split())
_LINES = frozenset({"br", "tr"})
_HIDDEN = frozenset({"script", "style"})


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._hidden += tag in _HIDDEN
        self._pre += tag == "pre"
        if tag in _BLOCKS:
            self.pieces.append("\n\n")
        elif tag in _LINES:
            self.pieces.append("\n")
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        self._pre = max(0, self._pre - (tag == "pre"))
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data if self._pre else data.replace("\n", " "))


def html_text(html: str) -> str:
    """The words of a piece of HTML, a blank line between two paragraphs."""
    parser = _Words()
    parser.feed(html)
    parser.close()
    lines = (line.rstrip() for line in "".join(parser.pieces).replace("\xa0", " ").split("\n"))
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line if line.strip() else "")
    return "\n".join(kept).strip()
