"""Texts of memories as safe HTML: Markdown, excerpts around the words that matched, and marks."""

import re
from collections.abc import Collection, Iterable
from functools import cache
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from memsense.search.excerpt import ELLIPSIS, fit_text
from memsense.text.visible import show

EXCERPT = 360
"""Characters of a side's excerpt; a text that is only a little longer stays whole."""

SLACK = 120

LONGEST_WORD = 100
"""Characters of a word that is marked; longer ones are no words of a question."""

TAGS = {
    *("p", "br", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_MARKDOWN = re.compile(
    r"[*_`#>|~\[\]\\]|^[ \t]*(?:[-+]|[0-9]{1,9}[.)])[ \t]|^ {4}|---", re.MULTILINE
)
_CUT_ITEM = re.compile(rf"\n[ \t]{{0,40}}(?:[-+*]|[0-9]{{1,9}}[.)]){ELLIPSIS}\Z")
"""End of an excerpt where the cut leaves the bullet or the number of an item alone."""

_TAG = re.compile(r"(<[^<>]*>)")
_WORD_OF_HTML = re.compile(r"&#?[0-9A-Za-z]{1,32};|\w+(?:['\u2019]\w+)*")


def list_words(texts: Iterable[str]) -> list[str]:
    """Return the distinct words of some texts."""
    words = (match[0] for text in texts for match in _WORD.finditer(text))
    return list(dict.fromkeys(word for word in words if len(word) <= LONGEST_WORD))


def render_markdown(text: str, words: Collection[str] = ()) -> Markup:
    """Return a text as safe HTML, with the given words marked."""
    text = show(text)
    if _MARKDOWN.search(text) is None:
        # Most turns of a chat hold no Markdown: a tenth of the time.
        paragraphs = (part.strip("\n") for part in text.split("\n\n"))
        html = "".join(
            f'<p dir="auto">{escape(part)}</p>'.replace("\n", "<br>") for part in paragraphs if part
        )
    else:
        html = nh3.clean(
            _parser().render(text),
            tags=TAGS,
            attributes={"a": {"href"}, "p": {"dir"}, "li": {"dir"}, "ol": {"start"}},
            allowed_classes={"p": {"heading"}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
        )
    return Markup(_mark(html, words) if words else html)  # noqa: S704 (escaped or cleaned above)


def render_excerpt(text: str, words: Collection[str]) -> tuple[Markup, bool]:
    """Return a text cut around the words that matched, as safe HTML, and whether it is cut."""
    if len(text) <= EXCERPT + SLACK:
        return render_markdown(text, words), False
    excerpt = fit_text(text, EXCERPT, list(words))
    return render_markdown(_CUT_ITEM.sub(ELLIPSIS, excerpt.text), words), excerpt.cut


def _mark(html: str, words: Collection[str]) -> str:
    """Mark words in the text between the tags."""

    def mark(match: re.Match[str]) -> str:
        return f"<mark>{match[0]}</mark>" if match[0] in words else match[0]

    pieces = _TAG.split(html)
    # Tags stand at the odd places, as `split` returns what a group matched.
    pieces[::2] = [_WORD_OF_HTML.sub(mark, piece) for piece in pieces[::2]]
    return "".join(pieces)


@cache
def _parser() -> MarkdownIt:
    # Nothing of a memory may vanish or load: no images, no entities, no link definitions.
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.disable(["image", "entity", "reference", "html_block", "html_inline", "lheading"])
    # A memory's headings are none of the page: its outline would be in disorder.
    for name in ("heading_open", "heading_close"):
        parser.add_render_rule(name, _render_heading)
    for name in ("paragraph_open", "list_item_open"):
        parser.add_render_rule(name, _render_with_direction)
    return parser


def _render_heading(self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    del self
    return '<p class="heading" dir="auto">' if tokens[index].nesting == 1 else "</p>\n"


def _render_with_direction(self: Any, tokens: Any, index: int, options: Any, _env: Any) -> str:
    # Each paragraph has its own direction: an answer may quote Hebrew within English.
    tokens[index].attrSet("dir", "auto")
    return self.renderToken(tokens, index, options, _env)
