"""`memsense serve` as a process: it listens, tells where, refuses what is unsafe, and ends."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from memsense import MemSense

PATIENCE = 120
"""Seconds that other processes may take, on a busy machine, too."""

COMMAND = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()"]


@contextmanager
def serving(url: str, *options: str, **variables: str) -> Generator[str]:
    """The address of a server in a process of its own."""
    process = subprocess.Popen(
        [*COMMAND, "--database-url", url, "serve", "--port", "0", *options],
        stderr=subprocess.PIPE, text=True, env={**os.environ, **variables},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"serves on (http://\S+)", line)
        assert found, line + process.stderr.read()
        yield found[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert process.stderr.read() == "memsense: terminated\n"
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "--database-url", url, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_without_keys_it_refuses_every_other_address(database_url: str) -> None:
    done = run(database_url, "serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert done.returncode == 2
    assert "not a loopback address" in done.stderr
    assert "memsense key create" in done.stderr


def test_it_asks_for_a_key_as_soon_as_the_tenant_has_one(database_url: str) -> None:
    with serving(database_url) as address:
        assert httpx.get(f"{address}/v1/traces").status_code == 200
    made = run(database_url, "key", "create", "--scope", "read,write")
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    with serving(database_url, "--host", "0.0.0.0") as address:  # noqa: S104
        local = address.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert httpx.get(f"{local}/v1/traces").status_code == 401
        assert httpx.get(f"{local}/v1/traces", headers=headers).status_code == 200


@pytest.mark.parametrize("package", ["fastapi", "jinja2", "prometheus_client"])
def test_without_its_packages_the_server_names_the_extra(database_url: str, package: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; {COMMAND[-1]}"
    command = [sys.executable, "-c", program, "--database-url", database_url, "serve"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert "pip install 'memsense[server]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_told(database_url: str) -> None:
    with serving(database_url) as address:
        done = run(database_url, "serve", "--port", address.rpartition(":")[2])
    assert done.returncode == 2
    assert "choose another --port" in done.stderr


def test_many_clients_lose_no_write_and_take_no_more_connections(database_url: str) -> None:
    """50 at once, each of whose writes is found again."""
    clients, rounds, most = 50, 4, 3

    def work(number: int) -> set[int]:
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            written: set[int] = set()
            for turn in range(rounds):
                said = [{"role": "user", "content": f"Client {number} drinks tea {turn}."}]
                body = {"user_id": f"u{number}", "session_id": "s", "messages": said}
                added = client.post("/v1/memories", json=body)
                assert added.status_code == 201, added.text
                written |= {item["chunk_id"] for item in added.json()["memories"]}
                asked = {"query": f"tea {turn}", "user_id": f"u{number}"}
                found = client.post("/v1/search", json=asked)
                assert found.status_code == 200, found.text
                assert found.json()["hits"]
            return written

    seen: list[int] = []
    with serving(database_url, MEMSENSE_POOL_MAX_SIZE=str(most)) as address:
        with psycopg.connect(database_url, autocommit=True) as connection:
            with ThreadPoolExecutor(clients) as threads:
                running = [threads.submit(work, number) for number in range(clients)]
                while not all(one.done() for one in running):
                    row = connection.execute(
                        "SELECT count(*) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                        " AND backend_type = 'client backend'"
                    ).fetchone()
                    assert row
                    seen.append(row[0])
                written = set[int]().union(*(one.result() for one in running))
    assert len(written) == clients * rounds
    assert 1 <= max(seen) <= most
    with MemSense.open(database_url) as memory:
        stored = memory.list(all_users=True, limit=1000)
    assert {chunk.chunk_id for chunk in stored} == written


def test_the_demo_ends_on_the_page_with_the_sample_memory(
    database_url: str, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    process = subprocess.Popen(
        [*COMMAND, "--database-url", database_url, "demo", "--open"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "BROWSER": f"{browser} %s"},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any("serves on" in line for line in lines)
        deadline = time.monotonic() + PATIENCE
        while not (opened.exists() and opened.read_text().strip()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        page = httpx.get(opened.read_text().strip()).text
        assert "Joost" in page
        assert 'class="bar"' in page
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        if process.stderr is not None:
            process.stderr.close()
    assert process.returncode == 130
