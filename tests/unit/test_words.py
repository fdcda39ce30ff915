"""The check of words finds each kind of offence, and the source has none."""

from pathlib import Path
from textwrap import dedent

import pytest

from tools import words


def offences(folder: Path, source: str, name: str = "a.py") -> list[str]:
    file = folder / name
    file.write_text(dedent(source).lstrip("\n"), encoding="utf-8")
    return [str(place) for place in words.offences_in(file, folder)]


@pytest.mark.parametrize(
    ("source", "offence"),
    [
        ('"""What is left."""', 'a.py:1: opens with "What": open with a noun'),
        (
            'def f() -> bool:\n    """Whether it works."""',
            'a.py:2: f() opens with "Whether": open with a verb ("Return whether ..."',
        ),
        (
            'def f() -> int:\n    """The number."""',
            'a.py:2: f() opens with "The": open with a verb',
        ),
        ("def f(told: str) -> None: ...", 'a.py:1: name "told": text, message, summary'),
        ("class C:\n    found: int", 'a.py:2: name "found": row, rows, match'),
        ("_ASKED = 1", 'a.py:1: name "_ASKED": request, question'),
        ("def _tell_all() -> None: ...", 'a.py:1: name "_tell_all": format_*, describe_*'),
        ("x = 1  # nobody reads it", 'a.py:1: "nobody": "no user"'),
        ('x = """Line.\nThe client is told."""', 'a.py:2: "is told": "is reported", "is passed"'),
        ('x = f"{x} of which there is one"', 'a.py:1: "of which": two sentences'),
        ("x = 1  # Beside the others", 'a.py:1: "Beside": "next to", "with"'),
        ('x = "the file stands here"', 'a.py:1: "stands": "is"'),
        ("x = 1  # whatever the type", 'a.py:1: "whatever": "any", "even if"'),
        ('x = "it may fail, and says so"', 'a.py:1: "says so": what it says'),
        ("x = 1  # if nothing is said", 'a.py:1: "is said": "is shown"'),
        ('x = f"what {x} lets expect"', 'a.py:1: "lets expect": "is estimated from"'),
    ],
)
def test_an_offence_names_its_line_and_what_to_write_instead(
    tmp_path: Path, source: str, offence: str
) -> None:
    [text] = offences(tmp_path, source)
    assert text.startswith(offence)


def test_a_module_may_not_be_named_after_telling(tmp_path: Path) -> None:
    assert offences(tmp_path, "", "telling.py") == [
        'telling.py:1: module "telling": name it after text, messages, summary'
    ]


def test_plain_words_pass(tmp_path: Path) -> None:
    source = '''
        """Rows of a table."""

        class Row:
            """A row; `*` stands for any. docs/beside/index.md compares `beside` with --beside."""

            @property
            def size(self) -> int:
                """The number of columns."""
                return len(self.told) + self.founder  # told by another class
    '''
    assert offences(tmp_path, source) == []


def test_the_folders_that_are_left_out_exist() -> None:
    assert [name for name in words.EXEMPT if not (words.ROOT / name).exists()] == []


@pytest.mark.full  # make lint-words does the same
def test_lint_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main([]) == 0, capsys.readouterr().out
