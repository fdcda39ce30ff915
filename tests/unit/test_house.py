"""The counts of the source, on a small package."""

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from tools import house

FILES = {
    "pkg/__init__.py": '"""A package."""\n',
    "pkg/a.py": '''
        """Whether it works."""

        from typing import TYPE_CHECKING

        from pkg import b  # noqa: F401

        if TYPE_CHECKING:
            from pkg.c import C

        # Set-up ----------


        def _once(found: int) -> int:
            """What is found."""
            # The server counts from 1.
            return found + 1  # so does the page


        def _again(depth: int) -> int:
            """Return the depth below."""
            return _again(depth - 1) if depth else _once(depth)


        def both() -> None:
            """Stored rows."""

            def told(hit: str) -> None:
                """The hit's text."""

            row, self.given = _again(1), told
    ''',
    "pkg/b.py": '''
        """Numbers."""


        class MemSense:
            """A memory."""

            @property
            def size(self) -> int:
                """The number of rows."""
                from pkg import a

                return a.both()

            def search(self, query: str, *, user_id: str = "", **rest: int) -> None:
                """Return rows.

                Args:
                    query: The question,
                        note: in plain words.
                    **rest: Filters.

                Returns:
                    user_id: no parameter.
                """

            def _hidden(self, given: int) -> None: ...
    ''',
    "pkg/c.py": '''
        """Letters."""

        import pkg.a


        class C:
            """A letter."""
    ''',
    "pkg/d.py": "import pkg.c\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    write_files(tmp_path, FILES)
    return tmp_path


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")


def texts(counts: house.House, name: str) -> list[str]:
    return [place.text for place in counts.lists.get(name, [])]


def test_every_count_of_a_small_package(package: Path) -> None:
    counts = house.count_house([package], root=package)
    figures = counts.figures()
    assert (figures["files"], figures["functions"]) == (5, 7)
    assert texts(counts, "one_caller") == ["_once"]
    assert figures["comments"] == 2
    assert texts(counts, "noun_clauses") == ["Whether it works.", "What is found."]
    assert texts(counts, "openings") == [
        "_once: What is found.",
        "both: Stored rows.",
        "told: The hit's text.",
    ]
    assert texts(counts, "participles") == ["found in _once", "given in both", "given in _hidden"]
    assert texts(counts, "parameters") == ["MemSense.search(user_id)"]
    assert figures["public_parameters"] == 3


def test_a_place_names_file_and_line(package: Path) -> None:
    counts = house.count_house([package], root=package)
    assert str(counts.lists["one_caller"][0]) == "pkg/a.py:13: _once"


def test_imports_for_types_and_within_functions_make_circles(package: Path) -> None:
    assert house.count_house([package]).circles == [["pkg.a", "pkg.b", "pkg.c"]]


def test_a_circle_through_files_that_were_not_named_is_not_seen(package: Path) -> None:
    assert house.count_house([package / "pkg/a.py", package / "pkg/d.py"]).circles == []


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("Return the rows.", None),
        ("Process a row.", None),
        ("Embed a text.", None),
        ("What is found.", "What"),
        ("As `search`, but quicker.", "As"),
        ("The rows.", "The"),
        ("Sessions of a user.", "Sessions"),
        ("Returns the rows.", "Returns"),
        ("Stored rows.", "Stored"),
        ("`rows`, sorted.", "rows"),
        ("384 numbers.", "384"),
    ],
)
def test_a_function_opens_with_an_imperative(docstring: str, fault: str | None) -> None:
    assert house.opening_fault(docstring) == fault


def test_a_property_may_open_with_a_noun_but_not_with_a_clause() -> None:
    assert house.opening_fault("The rows.", is_property=True) is None
    assert house.opening_fault("What is found.", is_property=True) == "What"


def test_the_command_prints_a_table_and_json(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert house.main([str(package), "--list"]) == 0
    output = capsys.readouterr().out
    assert "private functions with one caller           1 (14.3%)\n" in output
    assert "a.py:13: _once\n" in output
    assert "pkg.a <-> pkg.b <-> pkg.c" in output
    assert house.main([str(package), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["circles"] == [["pkg.a", "pkg.b", "pkg.c"]]
    assert figures["lists"]["one_caller"][0]["line"] == 13


def test_a_path_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere is neither a folder nor a Python file"):
        house.python_files([Path("nowhere")])


def test_every_public_class_is_in_the_package() -> None:
    declared = {
        node.name
        for file in house.python_files([house.ROOT / "memsense"])
        for node in house.parse(file).body
        if isinstance(node, house.ast.ClassDef)
    }
    assert declared >= house.PUBLIC_CLASSES
    assert house.PUBLIC_CLASSES >= house.CONSTRUCTED


def test_no_files_import_each_other() -> None:
    assert house.import_circles(house.python_files([house.ROOT / "memsense"])) == []
