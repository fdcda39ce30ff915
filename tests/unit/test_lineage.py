"""docs/beside/lineage.md names an existing test for every feature."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(
    r"`(tests/[\w/]+\.py)(?:::(\w+))?`",
    (ROOT / "docs" / "beside" / "lineage.md").read_text("utf-8"),
)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_that_shows_a_feature_exists(path: str, name: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    assert f"def {name or 'test_'}" in text


def test_five_systems_are_accounted_for() -> None:
    text = (ROOT / "docs" / "beside" / "lineage.md").read_text("utf-8")
    assert text.count("\n## ") == 5
    assert len(NAMED) == text.count("\n- ") > 40
