"""Reads database addresses, and shows them without their secrets. No error quotes any part of one:
what is mistyped may be the password.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memsense.errors import ConfigurationError

HIDDEN = "***"
SETTING = "--database-url or MEMSENSE_DATABASE_URL"
_SECRETS = frozenset(
    "password sslpassword oauth_client_secret scram_client_key scram_server_key".split()
)
_HIGHEST_PORT = 65535
DEFAULT_PORT = "5432"
_BARE_NAME = re.compile(r"[\w-]+")

# `postgresql+psycopg://` and its like are SQLAlchemy's.
_SCHEME = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
# Cut where libpq cuts.
_URL = re.compile(
    r"""postgresql://
    (?: (?P<user>[^/@:]*) (?: : (?P<password>[^/@]*) )? @ )?
    (?P<hosts>[^/?]*) (?P<path> / [^?]* )? (?: \? (?P<options>.*) )?""",
    re.VERBOSE | re.DOTALL,
)
_PAIR = re.compile(r"(?<!\S)(\w+)(\s*=\s*)('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\])*)", re.DOTALL)
_HALF_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BLANK = re.compile(r"\s")
_NO_HOST = re.compile(r"[\s@=;]")
_SHAPES = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE or 'host=HOST user=USER dbname=DATABASE'"


def read_address(given: str) -> str:
    """The address as libpq takes it, a URL or key=value pairs; `postgresql+psycopg://` is one, too.

    Raises ConfigurationError that says what is wrong.
    """
    address = given.strip()
    if _is_url(address):
        address = _SCHEME.sub("postgresql://", address, count=1)
    parts = _parse(address)
    fault = _find_fault(address, parts) if parts is not None else _explain(address)
    if fault:
        raise ConfigurationError(f"{SETTING}: {fault}")
    return address


def shown_url(given: str) -> str:
    """The address without its secrets, for people to read; nothing of one that can't be read."""
    try:
        address = read_address(given)
    except ConfigurationError:
        return HIDDEN
    url = _URL.fullmatch(address)
    if url is None:
        return _PAIR.sub(_hide_pair, address)
    shown = address
    if url["options"]:
        options = "&".join(map(_hide_option, url["options"].split("&")))
        shown = shown[: url.start("options")] + options
    if url["hosts"] and not url["user"]:
        shown = _hide_port(shown, url)
    if url["password"]:
        shown = shown[: url.start("password")] + HIDDEN + shown[url.end("password") :]
    return shown


def _hide_port(shown: str, url: re.Match[str]) -> str:
    """Without the port of a host that may be a user, and the port a password, had it an @."""
    host, _, port = url["hosts"].partition(":")
    is_known = not port or port == DEFAULT_PORT or not host or host == "localhost"
    if is_known or not _BARE_NAME.fullmatch(host):
        return shown
    return f"{shown[: url.start('hosts')]}{host}:{HIDDEN}{shown[url.end('hosts') :]}"


def holds_secret(given: str) -> bool:
    """Whether a password stands in the address; raises ConfigurationError, as `read_address`."""
    return not _SECRETS.isdisjoint(conninfo_to_dict(read_address(given)))


def split_secrets(given: str) -> tuple[str, Mapping[str, str]]:
    """The address without its secrets, and the environment in which libpq finds the password.

    Others see a program's arguments, and not its environment. libpq has no variable for the
    other secrets, such as a key file's password: a program asks for those.
    """
    parts = conninfo_to_dict(read_address(given))
    kept: dict[str, Any] = {name: parts[name] for name in parts if name not in _SECRETS}
    password = parts.get("password")
    return make_conninfo(**kept), {"PGPASSWORD": str(password)} if password else {}


def _is_url(address: str) -> bool:
    return _SCHEME.match(address) is not None


def _parse(address: str) -> dict[str, str] | None:
    try:
        found = conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # its text quotes what it stumbled over
        return None
    return {name: str(value) for name, value in found.items()}


def _find_fault(address: str, parts: Mapping[str, str]) -> str | None:
    """What is wrong with an address that libpq parses, though not as it was meant."""
    url = _URL.fullmatch(address)
    ports = parts.get("port", "").split(",")
    hosts = [host for host in parts.get("host", "").split(",") if not host.startswith(("/", "@"))]
    faults = {
        "there are two @; write one in a user's name or password as %40": (
            url and "@" in url["hosts"]
        ),
        "an @ stands behind a slash; write a slash in a password as %2F": (
            url and "@" in (url["path"] or "")
        ),
        "a user's name holds a colon; write the one before a password as it is": (
            ":" in parts.get("user", "")
        ),
        f"a port is no number from 1 to {_HIGHEST_PORT}; write {_SHAPES}": (
            not all(map(_is_port, ports))
        ),
        f"a host's name has a character that no name has; write {_SHAPES}": (
            any(map(_NO_HOST.search, hosts))
        ),
        f"the database's name is a URL; write {_SHAPES}": "://" in parts.get("dbname", ""),
    }
    return next((fault for fault, found in faults.items() if found), None)


def _is_port(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit() and 0 < int(text) <= _HIGHEST_PORT)


def _explain(address: str) -> str:
    """What is wrong with an address that libpq doesn't parse."""
    if not _is_url(address):
        if "=" in address and "://" not in address:
            return "a key is unknown, or a value with a space stands without its quotation marks"
        return f"it is no address of a PostgreSQL; write {_SHAPES}"
    if _HALF_ESCAPE.search(address):
        return "two hexadecimal digits must follow a %; write % itself as %25"
    if _BLANK.search(address):
        return "it holds a space; write it as %20"
    if "[" in address:
        return "an IPv6 address stands in square brackets, as [::1]:5432"
    return "an option behind the ? is unknown, or has no value"


def _hide_pair(pair: re.Match[str]) -> str:
    return f"{pair[1]}{pair[2]}{HIDDEN}" if pair[1] in _SECRETS else pair[0]


def _hide_option(option: str) -> str:
    name, _, _ = option.partition("=")
    return f"{name}={HIDDEN}" if unquote(name) in _SECRETS else option
