"""Count of the words of the docs, by kind, and check of pages and sentences. `make lint-docs`.

The four kinds are those of diataxis.fr. A kind has a budget of words, as `wc -w` counts them, and
so have all together. A page has at most 1,500 words, unless it is reference. A sentence has at
most 40 words, up to a semicolon; names in backticks are none. The check fails, and names each
offence as `file:line`.
"""

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools import reference  # noqa: E402 (after the path)

DOCS = ROOT / "docs"
KINDS: Mapping[str, tuple[tuple[str, ...], int]] = {
    "tutorials": (("tutorials",), 2_500),
    "how-to": (("guides", "moving", "index.md", "start.md"), 11_000),
    "reference": (("reference",), 27_000),
    "explanation": (("how", "beside"), 9_000),
    "decisions": (("decisions",), 1_500),
}
"""Folders and pages of each kind, and its budget. Decisions are apart: they are records for those
who change memsense, with four fixed parts, and no reader needs one to use it."""

MOST_IN_ALL = 50_000
"""Budget of all kinds together, which is less than the sum of their budgets."""

MOST_OF_A_PAGE = 1_500
MOST_OF_A_SENTENCE = 40
NOT_PROSE = re.compile(r"^ *(```+).*?^ *\1$|<!--.*?-->|^#.*?$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )|\s\|\s|\|\s*\n")
SENTENCE = re.compile(r"(?<=[.!?])[\"”*)]*\s+(?=[\"“*(\[§A-Z])|;\s")


def list_pages() -> Mapping[str, str]:
    """Return the text of each page by its name below docs, those of the reference made anew."""
    texts = {it.relative_to(DOCS).as_posix(): it.read_text("utf-8") for it in DOCS.rglob("*.md")}
    with tempfile.TemporaryDirectory() as folder:
        reference.write_pages(Path(folder))
        for path in Path(folder).iterdir():
            texts[f"reference/{path.name}"] = path.read_text("utf-8")
    return dict(sorted(texts.items()))


def kind_of(page: str) -> str:
    """Return the kind of a page."""
    [kind] = [kind for kind, (places, _) in KINDS.items() if page.partition("/")[0] in places]
    return kind


def long_sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, number of words and beginning of each sentence that is too long."""
    # What is no prose keeps its lines, so that the numbers of lines stay right.
    prose = NOT_PROSE.sub(lambda found: "\n" * found[0].count("\n"), text)
    prose = re.sub(r"`[^`]*`", lambda found: "§" + "\n" * found[0].count("\n"), prose)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    place = 0
    for block in BLOCK.split(prose):
        place = prose.index(block, place)
        for sentence in SENTENCE.split(block):
            count = len(re.findall(r"[^\W_][\w'.,%-]*", sentence))
            if count > MOST_OF_A_SENTENCE:
                at = prose.index(sentence, place)
                line = prose.count("\n", 0, at + len(sentence) - len(sentence.lstrip())) + 1
                yield line, count, " ".join(sentence.split())[:60]


def main() -> int:
    """Print the words of each kind; return 1 if a kind, a page or a sentence has too many."""
    pages = list_pages()
    words = {page: len(text.split()) for page, text in pages.items()}
    faults: list[str] = []
    for page, text in pages.items():
        if words[page] > MOST_OF_A_PAGE and kind_of(page) != "reference":
            faults.append(f"docs/{page}:1: {words[page]:,} words; a page has {MOST_OF_A_PAGE:,}")
        faults += [
            f"docs/{page}:{line}: a sentence of {count} words: {beginning} ..."
            for line, count, beginning in long_sentences(text)
        ]
    for kind, (_, budget) in KINDS.items():
        count = sum(words[page] for page in pages if kind_of(page) == kind)
        print(f"{kind:12} {count:6,} words of {budget:6,}")
        if count > budget:
            faults.append(f"{kind}: {count - budget:,} words too many")
    total = sum(words.values())
    print(f"{'all':12} {total:6,} words of {MOST_IN_ALL:6,}")
    if total > MOST_IN_ALL:
        faults.append(f"all: {total - MOST_IN_ALL:,} words too many")
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
