"""Names that are suggested for an unknown one."""

from collections.abc import Sequence

import pytest

from memsense.text.nearest import did_you_mean, nearest_name


@pytest.mark.parametrize(
    ("name", "names", "nearest"),
    [
        ("TopK", ["top_k", "min_score"], "top_k"),
        ("limit", ["query", "top_k"], "top_k"),
        ("limit", ["limits", "timeout"], "limits"),
        ("--k", ["--limit", "--kind"], "--limit"),
        ("user", ["query", "user_id"], "user_id"),
        ("--user-id", ["--user", "--all-users"], "--user"),
        ("filters", ["metadata", "tags"], "metadata"),
        ("conversation_id", ["query", "session_ids"], "session_ids"),
        ("nothing", ["query", "tags"], None),
    ],
)
def test_a_name_of_other_libraries_or_nearly_ours_is_recognised(
    name: str, names: Sequence[str], nearest: str | None
) -> None:
    assert nearest_name(name, names) == nearest


def test_the_first_name_that_is_like_one_is_suggested() -> None:
    assert did_you_mean(["nothing", "lexicall"], ["lexical"]) == "; did you mean 'lexical'?"
    assert did_you_mean("nothing", ["lexical"]) == ""
