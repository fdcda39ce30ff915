"""The image, without an engine: every step of the Containerfile is run here, and what it starts.

The layers are folders of this machine, and the process has what a container would have: another
user, no rights, and a file system that only the data and /tmp may be written to.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).parents[2]
PATIENCE = 300
USER = 10001

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("setpriv", "unshare", "mount"))),
    reason="only root, with setpriv and unshare, can run a process as a container does",
)


@dataclass(frozen=True)
class Image:
    """Steps of the Containerfile that say how its process runs, and the folder of its files."""

    folder: Path
    variables: Mapping[str, str]
    command: list[str]


def read_steps() -> Iterator[tuple[str, str]]:
    """Yield the instruction and the rest of each line; lines that end in a backslash go on."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


@pytest.fixture(scope="module")
def image() -> Generator[Image]:
    """Run the steps of the Containerfile with /opt/memsense and /data in a folder of their own."""
    variables: dict[str, str] = {}
    last: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="memsense-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)

        def moved(text: str) -> str:
            return re.sub(r"/(opt/memsense|data)\b", rf"{folder}/\1", text)

        for word, rest in read_steps():
            last[word] = rest
            if word == "RUN" and "useradd" not in rest:
                hidden = ("MEMSENSE_", "PYTHON")
                kept = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
                path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
                environment = {**kept, "PATH": path, "SLIM": ""}
                step = ["sh", "-c", moved(rest)]
                subprocess.run(step, check=True, cwd=ROOT, env=environment)
            elif word == "COPY" and "--from" not in rest:
                assert all((ROOT / source).exists() for source in rest.split()[:-1])
            elif word == "ENV":
                variables |= dict(part.split("=", 1) for part in shlex.split(moved(rest)))
        # What useradd would do: PostgreSQL asks for the name of its user.
        users = Path("/etc/passwd").read_text(encoding="utf-8")
        (folder / "passwd").write_text(f"{users}memsense:x:{USER}:{USER}::/:/bin/false\n")
        data = folder / "data"
        data.mkdir()
        os.chown(data, USER, USER)
        assert int(last["USER"]) == USER
        assert last["VOLUME"] == "/data"
        variables["PATH"] = variables["PATH"].replace("$PATH", "/usr/bin:/bin")
        command = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
        # Another server may listen on the image's port.
        command[command.index("--port") + 1] = "0"
        yield Image(folder, variables, command)


@contextmanager
def running(image: Image, **variables: str) -> Generator[tuple[str, str]]:
    """Yield the address of the image's server, and what it printed, and end it by SIGTERM."""
    script = (
        f"mount --bind {image.folder}/passwd /etc/passwd"
        f" && mount --bind {image.folder}/data {image.folder}/data"
        " && mount --bind /tmp /tmp && mount --options remount,bind,ro /"
        f" && exec setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs"
        f" {shlex.join(image.command)}"
    )
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script],
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**image.variables, **variables},
    )
    try:
        assert process.stderr is not None
        printed = ""
        while not (found := re.search(r"serves on http://0.0.0.0:(\d+)", printed)):
            line = process.stderr.readline()
            assert line, printed
            printed += line
        yield f"http://127.0.0.1:{found[1]}", printed
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def check_starts(image: Image, **variables: str) -> None:
    """Start twice: the first one makes a key, the second one serves what the first one stored."""
    place = image.folder / "data" / "first-key"
    said = [{"role": "user", "content": "My bicycle is green."}]
    with running(image, **variables) as (address, printed):
        assert str(place) in printed
        assert place.stat().st_mode & 0o777 == 0o600
        key = place.read_text(encoding="ascii").strip()
        assert key not in printed
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            assert client.get("/health/ready").status_code == 200
            assert client.get("/v1/memories/recent").status_code == 401
            client.headers["Authorization"] = f"Bearer {key}"
            added = client.post("/v1/memories", json={"messages": said, "user_id": "ada"})
            assert added.status_code == 201, added.text
    with running(image, **variables) as (address, printed):
        assert "first-key" not in printed
        found = httpx.post(
            f"{address}/v1/search",
            json={"query": "What colour is my bicycle?", "user_id": "ada"},
            headers={"Authorization": f"Bearer {key}"},
            timeout=PATIENCE,
        )
        assert len(found.json()["hits"]) == 1
        assert said[0]["content"] in found.text
    place.unlink()


def test_a_container_makes_its_schema_and_one_key_on_its_own_server(image: Image) -> None:
    check_starts(image)


def test_a_container_makes_schema_roles_and_one_key_in_a_database_of_yours(
    image: Image, empty_database_url: str
) -> None:
    host = str(conninfo_to_dict(empty_database_url).get("host", ""))
    if host.startswith("/"):
        pytest.skip("another user can't reach the socket of the tests' server")
    check_starts(
        image, MEMSENSE_DATABASE_URL=empty_database_url, MEMSENSE_OWNER_URL=empty_database_url
    )
    with psycopg.connect(empty_database_url) as connection:
        row = connection.execute("SELECT count(*) FROM memsense.access_keys").fetchone()
    assert row == (1,)
