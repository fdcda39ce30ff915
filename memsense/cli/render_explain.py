"""A recorded search for a terminal, as Markdown and as HTML: each hit's parts, and the dropped."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from memsense.cli.render import add_row, plain, shorten, table, when
from memsense.search.explanation import BAR_WIDTH, round_to_total, score_text, value_bar
from memsense.search.profiles import read_profile
from memsense.text.tables import TextTable

if TYPE_CHECKING:
    from memsense.store.traces import Trace, TraceCandidate

EXCERPT = 200
MOST_DROPPED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A part of a score: its name, its calculation, and what it adds to the score.

    `share` is the length of its bar: the part divided by the hit's largest part.
    """

    name: str
    how: str
    adds: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A hit, ready for any of the formats."""

    rank: int
    chunk_id: int
    text: str
    lines: Sequence[Line]
    total: float
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole trace, ready for any of the formats."""

    title: str
    facts: Sequence[tuple[str, str]]
    cards: Sequence[Card]
    dropped: Sequence[tuple[str, ...]]
    dropped_count: int


DROPPED_HEADINGS = ("place", "chunk", "score", "why it is no hit")


def build_page(trace: "Trace", texts: Mapping[int, str]) -> Page:
    """Return the page of a trace; `texts` are the contents of the shown chunks that still exist."""
    dropped = [item for item in trace.candidates if item.hit_rank is None]
    constants = trace.profile
    if trace.request_share:
        constants = read_profile(constants).for_request(trace.request_share).as_dict()
    timings = ", ".join(f"{name} {value:.1f}" for name, value in trace.timings_ms.items())
    facts = [
        ("trace", str(trace.trace_id)),
        ("asked", when(trace.recorded_at)),
        ("of", trace.user_id or "everybody"),
        ("searched", trace.searched if trace.searched != trace.question else ""),
        ("names", ", ".join(trace.names)),
        ("dates", ", ".join(trace.dates)),
        ("time zone", trace.timezone or "" if trace.dates else ""),
        ("words", ", ".join(trace.lexemes)),
        ("filters", ", ".join(name for name, value in trace.filters.items() if value)),
        ("min_score", "" if trace.min_score is None else f"{trace.min_score!r}"),
        ("kind", f"{trace.kind}, by {trace.kind_by}" if trace.kind else ""),
        ("profile", trace.profile_name),
        ("milliseconds", timings),
        ("notes", "; ".join(trace.notes)),
    ]
    return Page(
        title=trace.question,
        facts=[(name, value) for name, value in facts if value],
        cards=[_card(item, texts, constants) for item in trace.hits()],
        dropped=[_dropped_row(item) for item in dropped[:MOST_DROPPED]],
        dropped_count=len(dropped),
    )


def _card(item: "TraceCandidate", texts: Mapping[int, str], constants: Mapping[str, Any]) -> Card:
    chunk_id = item.shown_chunk_id or item.chunk_id
    parts = item.parts()
    # Rounded one by one, the printed parts would not add up to the printed score.
    rounded = round_to_total(list(parts.values()), item.final_score)
    # Terms may be negative: the bars show their size, and HTML their sign by colour.
    largest = max((abs(value) for value in rounded), default=0.0) or 1.0
    calculations = _calculations(item, constants)
    near = f" to chunk {item.redundant_to}" if item.redundant_to is not None else ""
    return Card(
        rank=item.hit_rank or 0,
        chunk_id=chunk_id,
        text=shorten(texts.get(chunk_id, "this chunk is gone"), EXCERPT),
        lines=[
            Line(name=name, how=calculations.get(name, ""), adds=value, share=value / largest)
            for name, value in zip(parts, rounded, strict=True)
        ],
        total=math.fsum(rounded),
        step=(
            f"place {item.score_rank} by score; MMR: relevance {item.relevance or 0:.4f},"
            f" redundancy {item.redundancy or 0:.4f}{near}, {item.mmr_score or 0:.4f}"
            f" -> choice {item.hit_rank}"
        ),
    )


def _calculations(item: "TraceCandidate", constants: Mapping[str, Any]) -> dict[str, str]:
    """Return how each part came about, by the part's name."""
    calculations = {
        name: f"{weight:g} · {value / weight:.4f}"
        for name, value in item.terms.items()
        if (weight := constants.get(f"{name}_weight") or constants.get(f"{name}_boost"))
    }
    calculations |= {
        route: f"rank {rank}, score {score:.4f}, weight {weight:g}"
        for route, rank, score, weight in zip(
            item.routes, item.ranks, item.scores, item.weights, strict=True
        )
    }
    if item.session is not None:
        calculations["turn_support"] = f"{item.session['supporting_turn_count']} turns support it"
    memory_alpha = constants.get("memory_alpha", 0)
    calculations["memory_score"] = f"{memory_alpha:g} · {item.memory_score:.4f}"
    return calculations


def _dropped_row(item: "TraceCandidate") -> tuple[str, ...]:
    """Return place, chunk, score and reason of a candidate that is no hit."""
    if item.dropped_by == "session":
        why = f"chunk {item.lost_to} stands for its session"
    elif item.dropped_by == "part":
        why = f"chunk {item.lost_to}, another part of its exchange, ranks above"
    elif item.dropped_by == "duplicate":
        why = f"duplicates chunk {item.lost_to}, redundancy {item.redundancy or 0:.3f}"
    elif item.dropped_by == "limit":
        why = "its session could give no further hit: max_per_session or min_sessions"
    elif item.dropped_by == "below_min_score":
        why = f"below min_score: place {item.score_rank} by score"
    else:
        by = "dropped by MMR" if item.dropped_by == "mmr" else "outranked"
        why = f"{by}: place {item.score_rank} by score, MMR {item.mmr_score or 0:.4f}"
    return str(item.position), str(item.chunk_id), score_text(item.final_score), why


def print_page(to: Console, page: Page) -> None:
    """Print the page on a terminal."""
    to.print(Text(plain(page.title), style="bold"))
    for name, value in page.facts:
        to.print(Text(f"  {name}: {plain(value)}", style="dim"))
    for card in page.cards:
        to.print(Text(f"\nHit {card.rank}: chunk {card.chunk_id}, {card.text}", style="bold"))
        to.print(_card_table(card))
    if not page.cards:
        to.print("No hits.")
    if page.dropped:
        rows = table(*DROPPED_HEADINGS, title=_dropped_title(page), right=("place", "score"))
        for row in page.dropped:
            add_row(rows, *row)
        to.print(rows)


def _card_table(card: Card) -> TextTable:
    """Return the card's table, with a narrow one of two columns for narrow terminals."""
    wide = table("part", "how", "adds", "", right=("adds", ""))
    narrow = table("part", "adds", right=("adds",))
    for line in card.lines:
        adds = score_text(line.adds)
        add_row(wide, line.name, line.how, adds, value_bar(line.share))
        add_row(narrow, f"{line.name}: {line.how}" if line.how else line.name, adds)
    for rows in (wide, narrow):
        rows.add_section()
        rows.caption = card.step
    add_row(wide, "score", "", score_text(card.total), "", style="bold")
    add_row(narrow, "score", score_text(card.total), style="bold")
    wide.otherwise = narrow
    return wide


def _dropped_title(page: Page) -> str:
    return f"Dropped: {page.dropped_count} candidates, the best {len(page.dropped)} of them"


def as_markdown(page: Page) -> str:
    """Return the page as Markdown."""
    lines = [f"# {_md(page.title)}", ""]
    lines += [f"- {name}: {_md(value)}" for name, value in page.facts]
    for card in page.cards:
        lines += ["", f"## Hit {card.rank}: chunk {card.chunk_id}", "", f"> {_md(card.text)}", ""]
        lines += ["| part | how | adds | |", "| --- | --- | ---: | --- |"]
        lines += [
            f"| {line.name} | {_md(line.how)} | {score_text(line.adds)} |"
            f" {'█' * round(abs(line.share) * BAR_WIDTH)} |"
            for line in card.lines
        ]
        lines += [f"| **score** | | **{score_text(card.total)}** | |", "", _md(card.step)]
    if page.dropped:
        lines += ["", f"## {_dropped_title(page)}", "", f"| {' | '.join(DROPPED_HEADINGS)} |"]
        lines += ["| ---: | ---: | ---: | --- |"]
        lines += [f"| {' | '.join(row)} |" for row in page.dropped]
    return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    """Return the text on one line, with the markup of Markdown and HTML escaped."""
    line = " ".join(plain(text).split())
    return "".join(f"\\{char}" if char in r"\`*_[]<>|#" else char for char in line)


def as_html(page: Page) -> str:
    """Return the page as HTML without scripts or links, since it shows texts of unknown origin."""
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(plain(value))}</dd>" for name, value in page.facts
    )
    dropped = ""
    if page.dropped:
        headings = "".join(f"<th>{heading}</th>" for heading in DROPPED_HEADINGS)
        rows = "\n".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in page.dropped
        )
        dropped = f"<h2>{_dropped_title(page)}</h2>\n<table>\n<tr>{headings}</tr>\n{rows}\n</table>"
    # The page is opened from a file: it loads nothing, and runs no script on texts of a memory.
    template = Path(__file__).with_name("trace.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=escape(plain(page.title)),
        facts=facts,
        cards="\n".join(_html_card(card) for card in page.cards) or "<p>No hits.</p>",
        dropped=dropped,
    )


def _html_card(card: Card) -> str:
    rows = "\n".join(
        f"<tr><td>{escape(line.name)}</td><td>{escape(line.how)}</td>"
        f'<td class="number">{score_text(line.adds)}</td><td class="bar">'
        f'<div class="{"less" if line.share < 0 else "more"}"'
        f' style="width: {100 * abs(line.share):.1f}%"></div></td></tr>'
        for line in card.lines
    )
    return (
        f"<h2>Hit {card.rank}: chunk {card.chunk_id}</h2>\n"
        f"<blockquote>{escape(card.text)}</blockquote>\n<table>\n{rows}\n"
        f'<tr><th>score</th><td></td><td class="number"><b>{score_text(card.total)}</b></td>'
        f"<td></td></tr>\n</table>\n<p>{escape(card.step)}</p>"
    )
