"""Every block of the site and of the README runs, or says why it can't: blocks.py has the rules."""

import re
from collections import Counter
from pathlib import Path

import pytest
from blocks import LANGUAGES, ROOT, PageRunner

from tools import reference

GENERATED = [reference.FOLDER / f"{name}.md" for name in reference.PAGES]
"""Pages that `make docs` writes: these tests write their own, and read none that is there."""
PAGES = [
    ROOT / "README.md",
    *sorted({*(ROOT / "docs").rglob("*.md")} - {*GENERATED}),
    *GENERATED,
]
FENCE = re.compile(
    r"^ *(?P<marks>```+)(?P<language>[^\n`]*)\n.*?^ *(?P=marks)$", re.MULTILINE | re.DOTALL
)
SKIP = re.compile(r'<!--- skip: next "([^"]+)" -->\n```')

NOT_RUN = {
    "needs a key of OpenAI": 5,
    "needs a key of Google": 1,
    "needs Strands or CrewAI": 1,
    "a module of a package that the reader writes": 1,
}
"""How many blocks can't be run here, by reason."""

# The examples of views are run and compared by tests/sql/test_views_explain.py; those of docstrings
# show calls, and lean on what was said before them.
NOT_HERE = {"reference/views.md", "reference/python.md"}


def name_of(page: Path) -> str:
    """Return a page's name below docs."""
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


# They share a memory of the sample, which takes ten seconds to embed.
WITH_SAMPLE = ("how/index.md", "tutorials/bad-answer.md")
ALONE = [page for page in PAGES if name_of(page) not in {*NOT_HERE, *WITH_SAMPLE}]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages that `make docs` writes."""
    folder = tmp_path_factory.mktemp("reference")
    reference.write_pages(folder)
    return folder


def place_of(page: Path, written: Path) -> Path:
    """Return where a page is for these tests."""
    return written / page.name if page in GENERATED else page


NEEDED = {
    "guides/export.md": "pyarrow",
    "guides/frameworks.md": "langchain_core",
    "guides/observability.md": "opentelemetry.sdk",
    "moving/langgraph.md": "langgraph",
}
"""Packages of `make setup-all` without which the blocks of a page can't run."""


RUNS_SOMETHING = re.compile(r"^ *(?:```(?:python|sql)$|\$ )", re.MULTILINE)
NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none"


@pytest.mark.parametrize("page", ALONE, ids=name_of)
def test_the_blocks_of_a_page_run(
    page: Path, written: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if needed := NEEDED.get(name_of(page)):
        pytest.importorskip(needed, reason=f"needs {needed}: make setup-all")
    place = place_of(page, written)
    # Two of three pages only have names, JSON and TOML to check.
    runs_something = RUNS_SOMETHING.search(place.read_text(encoding="utf-8"))
    url = request.getfixturevalue("database_url") if runs_something else NO_DATABASE
    PageRunner(place, url, tmp_path).run_page()


def test_the_blocks_of_the_pages_about_the_sample_run(database_url: str, tmp_path: Path) -> None:
    for name in WITH_SAMPLE:
        PageRunner(ROOT / "docs" / name, database_url, tmp_path).run_page()


def test_each_block_that_is_not_run_says_why(written: Path) -> None:
    texts = [place_of(page, written).read_text(encoding="utf-8") for page in PAGES]
    reasons = Counter(reason for text in texts for reason in SKIP.findall(text))
    assert reasons == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_fenced_and_name_a_language_that_is_checked(page: Path, written: Path) -> None:
    text = place_of(page, written).read_text(encoding="utf-8")
    assert {found["language"] for found in FENCE.finditer(text)} <= set(LANGUAGES)
    assert re.findall(r"\n\n    \S.*", FENCE.sub("", text)) == []
