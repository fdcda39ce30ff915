"""Every block of the site and of the README runs, or says why it can't: blocks.py has the rules."""

import re
from collections import Counter
from pathlib import Path

import pytest
from blocks import LANGUAGES, ROOT, PageRunner

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^ *(?P<marks>```+)(?P<language>[^\n`]*)\n.*?^ *(?P=marks)$", re.MULTILINE | re.DOTALL
)
SKIP = re.compile(r'<!--- skip: next "([^"]+)" -->\n```')

NOT_RUN = {
    "needs a key of OpenAI": 5,
    "needs a key of Google": 1,
    "needs Strands or CrewAI": 2,
    "a module of a package that the reader writes": 1,
    "runs a benchmark whose file is not ours to ship": 2,
}
"""How many blocks can't be run here, by reason."""

# The examples of views are run and compared by tests/sql/test_views_explain.py; those of docstrings
# show calls, and lean on what was said before them.
GENERATED = {"reference/views.md", "reference/python.md"}


def name_of(page: Path) -> str:
    """Return a page's name below docs."""
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


# They share a memory of the sample, which takes ten seconds to embed.
WITH_SAMPLE = ("how/index.md", "tutorials/bad-answer.md")
ALONE = [page for page in PAGES if name_of(page) not in {*GENERATED, *WITH_SAMPLE}]


NEEDED = {
    "guides/export.md": "pyarrow",
    "guides/frameworks.md": "langchain_core",
    "guides/observability.md": "opentelemetry.sdk",
    "moving/langgraph.md": "langgraph",
}
"""Packages of `make setup-all` without which the blocks of a page can't run."""


@pytest.mark.parametrize("page", ALONE, ids=name_of)
def test_the_blocks_of_a_page_run(page: Path, database_url: str, tmp_path: Path) -> None:
    if needed := NEEDED.get(name_of(page)):
        pytest.importorskip(needed, reason=f"needs {needed}: make setup-all")
    PageRunner(page, database_url, tmp_path).run_page()


def test_the_blocks_of_the_pages_about_the_sample_run(database_url: str, tmp_path: Path) -> None:
    for name in WITH_SAMPLE:
        PageRunner(ROOT / "docs" / name, database_url, tmp_path).run_page()


def test_each_block_that_is_not_run_says_why() -> None:
    reasons = Counter(
        reason for page in PAGES for reason in SKIP.findall(page.read_text(encoding="utf-8"))
    )
    assert reasons == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_fenced_and_name_a_language_that_is_checked(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert {found["language"] for found in FENCE.finditer(text)} <= set(LANGUAGES)
    assert re.findall(r"\n\n    \S.*", FENCE.sub("", text)) == []
