"""Servers for the tests of the client, over a memory of their own, until stdin ends.

Prints one line of JSON: their addresses, and a key of each kind.
"""

import json
import os
import socket
import sys
import tempfile
from dataclasses import replace
from threading import Thread

import uvicorn

from memsense import load_settings
from memsense.client.tenants import Tenants
from memsense.server.app import create_app
from memsense.server.options import ServerOptions
from memsense.store.access import SCOPES

with tempfile.TemporaryDirectory() as folder:
    os.environ["MEMSENSE_DATA_DIR"] = folder
    with Tenants.open(load_settings()) as tenants:
        tests, small = tenants.memory("tests"), tenants.memory("small")
        small.settings.set(user_quota=1)
        told = {
            "key": tests.access_keys.create(SCOPES).text,
            "reader": tests.access_keys.create(["read"]).text,
            "writer": tests.access_keys.create(["write"]).text,
            "small": small.access_keys.create(SCOPES).text,
        }
        shared = ServerOptions(needs_key=True, origins=("*",), rate=1e6, burst=1_000_000)
        servers: list[uvicorn.Server] = []
        for name, options in {"url": shared, "slow": replace(shared, rate=0.5, burst=1)}.items():
            listener = socket.create_server(("127.0.0.1", 0))
            told[name] = f"http://127.0.0.1:{listener.getsockname()[1]}"
            config = uvicorn.Config(create_app(tenants, options), log_level="warning")
            servers.append(uvicorn.Server(config))
            Thread(target=servers[-1].run, args=([listener],)).start()
        print(json.dumps(told), flush=True)
        sys.stdin.read()
        for server in servers:
            server.should_exit = True
