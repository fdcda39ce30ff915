"""What people install works where nothing else is installed, and the README's example runs."""

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Generator
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, data_dir: Path, cwd: Path) -> str:
    """What the command prints; it must not see this checkout or a database of somebody's."""
    hidden = ("MEMSENSE_", "PYTHON")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(
        [str(part) for part in command],
        env={**env, "MEMSENSE_DATA_DIR": str(data_dir)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment that holds the built wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("installed")
    run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--outdir",
        folder,
        ROOT,
        data_dir=folder,
        cwd=folder,
    )
    [wheel] = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", folder / "env", data_dir=folder, cwd=folder)
    binaries = folder / "env" / "bin"
    run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, data_dir=folder, cwd=folder)
    return binaries


@pytest.fixture
def data() -> Generator[Path]:
    """A data directory that, run by root, the server's user can reach: pytest's are closed."""
    with tempfile.TemporaryDirectory(prefix="memsense-packaging-") as folder:
        yield Path(folder)


def test_the_wheel_ingests_and_answers_in_a_clean_environment(
    installed: Path, data: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"session_id": "s1", "role": "user", "content": "My bicycle is teal."}\n')
    report = run(
        installed / "memsense",
        "ingest",
        log,
        "--user",
        "ada",
        "--json",
        data_dir=data,
        cwd=tmp_path,
    )
    assert json.loads(report)["stored"] == 1
    question = ("search", "Which colour has the bicycle?", "--user", "ada", "--json")
    found = run(installed / "memsense", *question, data_dir=data, cwd=tmp_path)
    [hit] = json.loads(found)["hits"]
    assert hit["content"] == "user: My bicycle is teal."


def test_two_checkouts_give_the_same_wheel_and_the_same_sdist(tmp_path: Path) -> None:
    """Anyone can build a release again and compare: neither times nor the folder are in it."""
    built: list[dict[str, str]] = []
    for number in range(2):
        checkout, dist = tmp_path / f"checkout{number}", tmp_path / f"dist{number}"
        run("git", "clone", "--quiet", ROOT, checkout, data_dir=tmp_path, cwd=tmp_path)
        # Of the second checkout each file is of another day.
        for path in checkout.rglob("*"):
            os.utime(path, (86_400.0 * number, 1e9 + 86_400.0 * number), follow_symlinks=False)
        build = (sys.executable, "-m", "build", "--outdir", dist, checkout)
        run(*build, data_dir=tmp_path, cwd=tmp_path)
        built.append({it.name: sha256(it.read_bytes()).hexdigest() for it in dist.iterdir()})
    assert built[0] == built[1]
    assert len(built[0]) == 2


def test_the_text_on_pypi_has_no_link_into_this_repository(installed: Path) -> None:
    program = "from importlib.metadata import metadata; print(metadata('memsense').get_payload())"
    text = run(installed / "python", "-c", program, data_dir=installed, cwd=installed)
    assert "pip install memsense" in text
    assert re.findall(r"\]\((?!https?:)", text) == []


def test_the_readmes_python_example_finds_what_it_stored(data: Path, tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed: list[str] = []
    for number, example in enumerate(examples):
        script = tmp_path / f"example{number}.py"
        script.write_text(runnable(example))
        printed.append(run(sys.executable, script, data_dir=data, cwd=tmp_path))
    assert "allergic to peanuts" in printed[0]


def runnable(example: str) -> str:
    """The example as a script; what awaits stands in a coroutine there."""
    if "await" not in example:
        return example
    body = textwrap.indent(example, "    ")
    return f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"
