"""The site is whole: every page has its place, and what names a page names one that is there.

Links between pages are checked by `make docs`, which fails for a missing page or heading.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import reference

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs"
MADE = {reference.FOLDER / f"{name}.md" for name in reference.PAGES}
"""Pages that `make docs` writes: they are not in the repository."""
SOURCES = (
    *(ROOT / "memsense").rglob("*.py"),
    *(ROOT / "tests").rglob("*.py"),
    *(ROOT / "benchmarks").glob("*.py"),
    *(ROOT / "examples").rglob("*"),
    *(ROOT / "sql").rglob("*.sql"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml")),
)


def pages_of(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the pages of the navigation, in order."""
    for entry in entries:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from pages_of(target)


def slugs_of(text: str) -> set[str]:
    """Return the anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_page_stands_once_in_the_navigation() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    listed = list(pages_of(settings["project"]["nav"]))
    written = {path.relative_to(SITE).as_posix() for path in {*SITE.rglob("*.md")} | MADE}
    assert sorted(listed) == sorted(written)


def test_a_decision_has_its_four_parts_and_its_row_in_the_index() -> None:
    index = (SITE / "decisions" / "index.md").read_text(encoding="utf-8")
    pages = [path for path in sorted((SITE / "decisions").glob("*.md")) if path.stem != "index"]
    assert sorted(re.findall(r"^- \[[^]]+\]\(([\w-]+)\.md\)", index, re.MULTILINE)) == [
        path.stem for path in pages
    ]
    for page in pages:
        headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings == [
            "Context",
            "Decision",
            "Consequences",
            "What was measured or tried",
        ], page.name


def test_a_decision_names_files_that_are_there() -> None:
    for page in (SITE / "decisions").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"`((?:memsense|sql|tests|tools|benchmarks)/[\w/.*-]+)`", text)
        missing = [name for name in named if not list(ROOT.glob(name.rstrip("/")))]
        # The wheel's own folder.
        assert [name for name in missing if name != "memsense/_sql"] == [], page.name


def test_a_page_that_a_source_names_is_there_with_its_heading() -> None:
    missing: list[str] = []
    for source in filter(Path.is_file, SOURCES):
        if source.suffix == ".pyc":
            continue
        named = re.findall(
            r"(?<![\w./])docs/([\w/-]+\.(?:md|png|svg))(?:#([\w-]+))?",
            source.read_text(encoding="utf-8"),
        )
        for name, anchor in named:
            page = SITE / name
            if page in MADE or not page.is_file():
                missing.append(f"{source.relative_to(ROOT)}: docs/{name}")
            elif anchor and anchor not in slugs_of(page.read_text(encoding="utf-8")):
                missing.append(f"{source.relative_to(ROOT)}: docs/{name}#{anchor}")
    assert missing == []
