"""A program that uses memsense ends without a word on stderr, on every Python that is there.

MEMSENSE_TEST_PYTHONS names the interpreters, joined as in PATH; by default the one of this test.
Each gets an environment of its own with the built wheel. Python shows what it can't raise at the
end of a program (an exception in a finalizer, a thread that is still there) on stderr alone, hence
`-X dev` and errors for what nobody closed. Deprecations are left out: they are of packages of
others, and of Python to whoever forks a process with threads. So is asyncio's debug mode, which
reads a clock.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = os.environ.get("MEMSENSE_TEST_PYTHONS", sys.executable).split(os.pathsep)
OPTIONS = ["-X", "dev", "-W", "ignore::DeprecationWarning", "-W", "error::ResourceWarning"]
EXTRAS = "langchain,langgraph,mcp,otel,parquet,server"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SKIPPED = re.compile(r'<!--- skip: next "[^"]+" -->\n```python\n.*?^```', re.MULTILINE | re.DOTALL)

LEFT_OUT = {
    "docs/guides/evaluation.md": "its file of questions is not there",
    "docs/tutorials/web-service.md": "needs the URL of a server",
}
"""Pages whose programs can't run in an empty environment, and why."""

OWN = {
    "a client never closed": """
        from memsense import MemSense
        memory = MemSense.open()
        memory.add("I moved to Lisbon.", user_id="ada")
        memory.search("Where does Ada live?", user_id="ada", trace=True)
        """,
    "a client never closed in a function": """
        from memsense import MemSense
        def ask():
            memory = MemSense.open()
            return memory.search("Where does Ada live?", user_id="ada")
        assert ask() is not None
        """,
    "a client never used": """
        from memsense import MemSense
        memory = MemSense.open()
        """,
    "the package imported alone": """
        import memsense
        import memsense.integrations
        """,
    "two clients, closed in the order in which they were opened": """
        from memsense import MemSense
        first, second = MemSense.open(), MemSense.open(namespace="second")
        second.add("I moved to Lisbon.", user_id="ada")
        first.close()
        second.close()
        """,
    "a client in a thread": """
        import threading
        from memsense import MemSense
        def work():
            with MemSense.open() as memory:
                memory.add("I keep two rabbits.", user_id="ben")
                assert memory.search("Which pets?", user_id="ben")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
    "threads that share a client never closed": """
        from concurrent.futures import ThreadPoolExecutor
        from memsense import MemSense
        memory = MemSense.open()
        memory.add("I keep two rabbits.", user_id="ben")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: memory.search("Which pets?", user_id="ben"), range(8)))
        """,
    "a daemon thread that still searches": """
        import threading
        from memsense import MemSense
        memory = MemSense.open()
        memory.add("I keep two rabbits.", user_id="ben")
        begun = threading.Event()
        def work():
            while True:
                try:
                    memory.search("Which pets?", user_id="ben")
                except Exception:
                    return
                finally:
                    begun.set()
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        """,
    "asyncio": """
        import asyncio
        from memsense import AsyncMemSense
        async def main():
            async with await AsyncMemSense.open() as memory:
                await memory.add("I moved to Lisbon.", user_id="ada")
                await asyncio.gather(
                    *(memory.search("Where does Ada live?", user_id="ada") for _ in range(4))
                )
        asyncio.run(main(), debug=False)
        """,
    "asyncio, never closed": """
        import asyncio
        from memsense import AsyncMemSense
        async def main():
            memory = await AsyncMemSense.open()
            await memory.search("Where does Ada live?", user_id="ada")
        asyncio.run(main(), debug=False)
        """,
    "a fork before the end": """
        import os
        from memsense import MemSense
        memory = MemSense.open()
        memory.add("I moved to Lisbon.", user_id="ada")
        child = os.fork()
        assert memory.search("Where does Ada live?", user_id="ada")
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """,
    "sys.exit within a client": """
        import sys
        from memsense import MemSense
        with MemSense.open() as memory:
            memory.add("I moved to Lisbon.", user_id="ada")
            sys.exit(0)
        """,
    "results that outlive their client": """
        from memsense import MemSense
        with MemSense.open() as memory:
            memory.add("I moved to Lisbon.", user_id="ada")
            result = memory.search("Where does Ada live?", user_id="ada")
        print(result[0].explain.table())
        """,
    "a cycle that holds a client": """
        from memsense import MemSense
        class Agent:
            def __init__(self):
                self.itself = self
                self.memory = MemSense.open()
        Agent().memory.search("Where does Ada live?", user_id="ada")
        """,
    "the servers imported alone": """
        import memsense.server.app
        import memsense.mcp.server
        """,
}
"""Programs beside those of the pages."""


def page_programs() -> dict[str, str]:
    """Return the Python blocks of each page, joined, as one program by page."""
    programs: dict[str, str] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = page.relative_to(ROOT).as_posix()
        blocks = BLOCK.findall(SKIPPED.sub("", page.read_text()))
        if not blocks or name in LEFT_OUT or name.startswith("docs/reference/"):
            continue
        program = "\n".join(textwrap.dedent(block) for block in blocks)
        if re.search(r"^await ", program, re.MULTILINE):
            body = textwrap.indent(program, "    ")
            program = (
                f"import asyncio\nasync def main():\n{body}\nasyncio.run(main(), debug=False)\n"
            )
        programs[name] = program
    return programs


PROGRAMS = {**page_programs(), **{name: textwrap.dedent(text) for name, text in OWN.items()}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A Python that has the wheel, and a data directory."""

    python: Path
    data: Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True)
    [wheel] = folder.glob("memsense-*.whl")
    return wheel


@pytest.fixture(scope="module", params=PYTHONS, ids=lambda path: Path(path).parents[1].name)
def environment(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Environment]:
    folder = tmp_path_factory.mktemp("environment")
    # Without pip: distributions of Python may lack it, and this one's installs for others.
    subprocess.run([request.param, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*install, f"{wheel}[{EXTRAS}]", "opentelemetry-sdk"], check=True)
    with tempfile.TemporaryDirectory(prefix="memsense-ends-") as data:
        yield Environment(python=python, data=Path(data))


def test_there_are_at_least_twenty_programs() -> None:
    assert len(PROGRAMS) >= 20
    assert all((ROOT / name).exists() for name in LEFT_OUT)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_ends_without_a_word(
    program: str, environment: Environment, tmp_path: Path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAMS[program])
    hidden = ("MEMSENSE_", "PYTHON")
    variables = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    done = subprocess.run(
        [environment.python, *OPTIONS, script],
        env={**variables, "MEMSENSE_DATA_DIR": str(environment.data)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
