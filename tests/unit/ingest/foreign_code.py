"""Files of programs that are no conversations: sources, configurations, lockfiles, notebooks."""

import json

_CELL: dict[str, object] = {"cell_type": "code", "outputs": [], "source": ["print(1)"]}
_MARKDOWN: dict[str, object] = {
    "cell_type": "markdown",
    "source": ["User: asks\n", "AI: answers\n"],
}

CODE: dict[str, str] = {
    "install.py.txt": '''"""Installs the tool."""

def run_install(self):
    self.do_egg_install()

class Develop:
    def run_install(self):
        pass

    def finish(self):
        try:
            self.close()
        except OSError:
            pass
        finally:
            self.done = True

def run_install(path):
    return path
''',
    "chat_client.py.txt": """import openai

# User: the person
# Assistant: the model
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
]

def ask(text):
    return openai.chat(MESSAGES + [{"role": "user", "content": text}])
""",
    "server.go.txt": """package main

func serve(addr string) error {
	switch addr {
	case "user":
		return nil
	case "assistant":
		return nil
	default:
		goto end
	}
end:
	return nil
}
""",
    "parser.c.txt": """#include <stdio.h>

int parse(int c) {
    switch (c) {
    case 1:
        return 2;
    default:
        break;
    }
error:
    return -1;
error_free:
    return 0;
}
""",
    "handler.ts.txt": """interface Message {
  role: string;
  content: string;
}

export const roles = {
  user: "User",
  assistant: "Assistant",
};

export function next(message: Message): Message {
  return { role: "assistant", content: message.content };
}
""",
    "lib.rs.txt": """pub struct Turn {
    pub user: String,
    pub model: String,
}

impl Turn {
    pub fn new(user: String, model: String) -> Self {
        Self { user, model }
    }
}
""",
    "style.css.txt": """body {
  color: #333;
  margin: 0;
}
.user: hover {
  color: red;
}
.user: focus {
  color: blue;
}
""",
    "schema.sql.txt": """-- User: owner of the rows
CREATE TABLE message (
    id bigint PRIMARY KEY,
    role text NOT NULL,
    content text NOT NULL
);
INSERT INTO message VALUES (1, 'user', 'hello'), (2, 'assistant', 'hi');
""",
    "Makefile.txt": """all: build test

build: src/main.o
	cc -o app src/main.o

test: build
	./run-tests

clean:
	rm -f app

build: more.o
test: more
""",
    "deploy.sh.txt": """#!/bin/sh
set -eu
echo "User: $USER"
echo "Host: $(hostname)"
case "$1" in
  start) echo "Starting" ;;
  stop) echo "Stopping" ;;
esac
echo "User: done"
echo "Host: done"
""",
    "docstring.rst": """Client
======

.. code-block:: python

    >>> ask("hello")
    'hi'
    >>> ask("again")
    'no'

:param user: who asks
:param model: who answers
:param user: who asks again
:param model: who answers again
""",
    "change.diff.txt": """diff --git a/README b/README
index 83db48f..bf2a1c0 100644
--- a/README
+++ b/README
@@ -1,3 +1,3 @@
-User: old
+User: new
 Assistant: kept
""",
    "docker-compose.yml.txt": """services:
  db:
    image: pgvector/pgvector:pg17
    user: postgres
    environment:
      POSTGRES_PASSWORD: secret
  agent:
    image: example/agent
    user: agent
    environment:
      MODEL: small
volumes:
  data:
""",
    "agents.yaml.txt": """user: ada
model: gpt-4
agent: helper
system: linux
tools:
  - search
---
user: bob
model: gpt-4
agent: writer
""",
    "small.yaml.txt": "user: bob\nassistant: helper\n",
    "prompts.yaml.txt": """name: greeting
prompt: |
  User: {question}
  Assistant:
stop:
  - "User:"
""",
    "setup.ini.txt": """[user]
name = Ada
email = ada@example.org

[assistant]
name: helper
model: small
user: ada
""",
    "pyproject.toml.txt": """[project]
name = "example"
authors = [{ name = "Ada", email = "ada@example.org" }]

[tool.chat]
user = "ada"
assistant = "helper"
""",
    "ssh_config.txt": """Host: alpha
Port: 22
Host: beta
Port: 2200
Host: gamma
Port: 22
""",
    "package.json": json.dumps(
        {
            "name": "example",
            "version": "1.0.0",
            "author": "Ada",
            "type": "module",
            "description": "Chat with a model",
            "scripts": {"test": "run"},
        },
        indent=2,
    ),
    "package-lock.json": json.dumps(
        {
            "name": "example",
            "lockfileVersion": 3,
            "packages": {"": {"name": "example"}, "node_modules/a": {"version": "1.0.0"}},
        }
    ),
    "Cargo.lock.txt": """version = 3

[[package]]
name = "serde"
version = "1.0.0"

[[package]]
name = "tokio"
version = "1.0.0"
""",
    "yarn.lock.txt": """# yarn lockfile v1

left-pad@^1.0.0:
  version "1.3.0"
  resolved "https://registry.example/left-pad"

right-pad@^1.0.0:
  version "1.0.1"
""",
    "Gemfile.lock.txt": """GEM
  remote: https://gems.example/
  specs:
    rake (13.0.0)

PLATFORMS
  ruby

DEPENDENCIES
  rake
""",
    "tsconfig.json": '{\n  "compilerOptions": {"target": "es2022"},\n  "include": ["src"]\n}\n',
    "rollup.json": '{"input": "src/index.js", "output": "dist/bundle.js"}',
    "builds.json": json.dumps(
        [{"input": f"src/{n}.ts", "output": f"dist/{n}.js", "type": "es"} for n in range(5)]
    ),
    "eslint.json": json.dumps(
        [{"filePath": "a.js", "messages": [{"ruleId": "semi", "message": "Missing semicolon."}]}]
    ),
    "locale.json": '{"messages": {"hello": "Hello", "bye": "Bye"}, "language": "en"}',
    "locale_list.json": json.dumps(
        {"messages": [{"id": "hello", "text": "Hello"}, {"id": "bye", "text": "Bye"}]}
    ),
    "kibana.json": '{"mapping": {"properties": {"message": {"type": "text"}}}}',
    "openapi.json": json.dumps(
        {"openapi": "3.1.0", "info": {"title": "Chat"}, "paths": {"/messages": {"get": {}}}}
    ),
    "comments.json": json.dumps(
        [
            {"id": n, "user": name, "body": "I agree", "created_at": "2024-05-01T10:00:00Z"}
            for n, name in enumerate(("ada", "bob", "cy", "dee", "eli"))
        ]
    ),
    "feed.json": json.dumps(
        {"items": [{"user": "ada", "content": "A picture"}, {"user": "bob", "content": "Two"}]}
    ),
    "roster.json": json.dumps([{"name": "Ada", "role": "engineer", "value": "x"}] * 3),
    "features.json": json.dumps([{"type": "Feature", "name": "a place", "text": "by the sea"}]),
    "accounts.json": json.dumps([{"role": "user", "name": "ada"}, {"role": "user", "name": "bo"}]),
    "analysis.ipynb.json": json.dumps(
        {"cells": [_MARKDOWN, _CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    ),
    "plots.ipynb.json": json.dumps({"cells": [_CELL] * 3, "nbformat": 4, "nbformat_minor": 5}),
}
