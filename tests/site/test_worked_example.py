"""The numbers of the worked example are right: the site's arithmetic is computed again.

That the table is what memsense prints is checked with the other blocks (test_blocks.py).
"""

import ast
import operator
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from memsense.search.profiles import PROFILES

PAGE = (Path(__file__).parents[2] / "docs" / "how" / "index.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
EQUATIONS = [line.split(" = ") for block in BLOCKS for line in block.splitlines() if " = " in line]
ROW = re.compile(
    r"^  (\w+) +(\d+)? .*?(-?\d+\.\d{4}) +weight (.+?)(?:: next to .*?)?  +(\d\.\d{4})"
)
ROWS = [found.groups() for found in map(ROW.match, PAGE.splitlines()) if found]
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other,
}


def calculate(text: str) -> float:
    """Return the value of a sum, product or quotient of numbers."""

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return OPERATIONS[type(node.op)](value(node.left), value(node.right))
        assert isinstance(node, ast.Constant)
        assert isinstance(node.value, int | float)
        return node.value

    return value(ast.parse(text.replace("·", "*"), mode="eval").body)


@pytest.mark.parametrize(("left", "right"), EQUATIONS)
def test_each_equation_of_the_page_holds(left: str, right: str) -> None:
    assert calculate(left) == pytest.approx(float(right), abs=0.0003)


def test_each_row_of_the_table_is_its_formula_with_the_defaults_weight() -> None:
    assert len(ROWS) == 8
    balanced = PROFILES["balanced"]
    weights: dict[str, float] = {
        **balanced.weights,
        "memory_score": balanced.memory_alpha,
        "tokens_session": balanced.tokens_whole_weight,
    }
    for name, rank, raw, formula, adds in ROWS:
        assert calculate(formula) == pytest.approx(float(adds), abs=0.0001), name
        weight = weights[name] if name in weights else getattr(balanced, f"{name}_weight")
        assert float(formula.split()[0]) == weight, name
        if rank:
            assert formula == f"{weight:g} / ({balanced.rrf_k:g} + {rank})"
        else:
            assert float(formula.split(" · ")[1]) == pytest.approx(float(raw), abs=0.0001)


def test_the_parts_add_up_to_the_score_and_the_ranks_to_a_fifth_of_it() -> None:
    found = re.search(r"^  score +rrf (\d\.\d+) +(\d\.\d+)$", PAGE, re.MULTILINE)
    assert found
    rrf, score = map(float, found.groups())
    added = {name: float(adds) for name, _, _, _, adds in ROWS}
    assert sum(added.values()) == pytest.approx(score, abs=0.0006)
    ranks = [float(adds) for _, rank, _, _, adds in ROWS if rank]
    assert sum(ranks) == pytest.approx(rrf, abs=0.0002)
    assert rrf / score == pytest.approx(0.2, abs=0.03)
