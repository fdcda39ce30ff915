"""Write the table of the upgrade page, and what `memsense db upgrade` says to run next.

    python tools/upgrades.py          write docs/guides/upgrade.md and memsense/cli/upgrades.json
    python tools/upgrades.py --check  exit 1 if one of them is not current

Both come from CHANGELOG.md. An entry ends in `Run: ` with the commands that an upgraded store
needs, in `Callers: ` with what a program must change, or in both. Its revision is the one that it
names.
"""

import json
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guides" / "upgrade.md"
COMMANDS = ROOT / "memsense" / "cli" / "upgrades.json"
BEGIN, END = "<!-- Written by tools/upgrades.py. -->\n\n", "\n<!-- The end of what it writes. -->"

_SECTION = re.compile(r"^## (\S+).*\n((?:(?!^## ).*\n?)*)", re.MULTILINE)
_ENTRY = re.compile(r"^- (?:.*\n)(?:  .*\n)*", re.MULTILINE)
_REVISION = re.compile(r"revision (\d{4})")
_RUN = re.compile(r"Run: (.*?)(?= Callers: |$)")
_CALLERS = re.compile(r"Callers: (.*?)(?= Run: |$)")
_COMMAND = re.compile(r"`(memsense [^`]+)`")


@dataclass(frozen=True, slots=True)
class Step:
    """Marked entry of the changelog: what a store needs, and what a program must change."""

    version: str
    revision: str
    commands: tuple[str, ...]
    callers: str


def read_steps() -> list[Step]:
    """Return the marked entries by version and revision, oldest first; without a revision, last."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections: list[list[Step]] = []
    for name, text in _SECTION.findall(changelog):
        version = project["version"].partition(".dev")[0] if name == "Unreleased" else name
        steps: list[Step] = []
        for entry in map(_join, _ENTRY.findall(text)):
            run, callers = _RUN.search(entry), _CALLERS.search(entry)
            if run is None and callers is None:
                continue
            revision = _REVISION.search(entry)
            steps.append(
                Step(
                    version,
                    revision[1] if revision else "",
                    tuple(_COMMAND.findall(run[1]) if run else ()),
                    callers[1] if callers else "",
                )
            )
        sections.append(sorted(steps, key=lambda step: step.revision or "9999"))
    return [step for steps in reversed(sections) for step in steps]


def write_table(steps: list[Step]) -> str:
    """Return the page's table."""
    schemas: dict[str, str] = json.loads((ROOT / "tests" / "data" / "released.json").read_text())
    rows = ["| to | revision | run, in this order | callers |", "| --- | --- | --- | --- |"]
    for step in steps:
        commands = ", ".join(f"`{command}`" for command in step.commands)
        callers = step.callers[:1].upper() + step.callers[1:]
        rows.append(f"| {step.version} | {step.revision or 'none'} | {commands} | {callers} |")
    versions = ", ".join(f"{version} has {schema}" for version, schema in schemas.items())
    return "\n".join([*rows, "", f"Revisions of the releases: {versions}, 0.1.0 at most 0030.", ""])


def list_commands(steps: list[Step]) -> str:
    """Return the commands by revision, as JSON."""
    by_revision: dict[str, list[str]] = {}
    for step in steps:
        if step.commands:
            by_revision.setdefault(step.revision, []).extend(step.commands)
    return f"{json.dumps(by_revision, indent=2)}\n"


def make_files() -> dict[Path, str]:
    """Return the text of each file that is written."""
    steps = read_steps()
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return {
        PAGE: f"{before}{BEGIN}{write_table(steps)}{END}{after}",
        COMMANDS: list_commands(steps),
    }


def _join(entry: str) -> str:
    return " ".join(entry.split())


def main(*arguments: str) -> int:
    """Write the files, or compare them; return the exit code."""
    code = 0
    for path, text in make_files().items():
        if arguments != ("--check",):
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{path.relative_to(ROOT)} is not current: make generate\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
