"""What a shell is offered for a value that is begun, asked for as bash asks."""

import command
import pytest


def complete(line: str) -> list[str]:
    asked = {
        "_MEMSENSE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    done = command.run(None, env=asked)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("memsense search tea --profile le", ["lexical"]),
        ("memsense search tea -p memsense -p s", ["semantic"]),
        ("memsense why-not tea 1 --profile k", ["keyword_focused"]),
        ("memsense eval locomo file.json -p v", ["vector_heavy"]),
        ("memsense search tea --kind p", ["preference"]),
        ("memsense ingest log --format claude", ["claude_code", "claude_ai", "claude_export"]),
        ("memsense trace show 1 --format ma", ["markdown"]),
        ("memsense search tea --profile nothing", []),
    ],
)
def test_values_with_names_are_completed(line: str, offered: list[str]) -> None:
    assert complete(line) == offered
