"""Database addresses: parsed, and shown without their secrets.

No error quotes any part of an address: what is mistyped may be the password.
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


def read_address(text: str, setting: str = SETTING) -> str:
    """Return the address as libpq takes it, also from SQLAlchemy's; raise ConfigurationError."""
    address = text.strip()
    if _is_url(address):
        address = _SCHEME.sub("postgresql://", address, count=1)
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except psycopg.ProgrammingError:
        parts = None  # the error itself is not shown: it quotes what it stumbled over
    fault = _find_fault(address, parts) if parts is not None else _explain(address)
    if fault:
        raise ConfigurationError(f"{setting}: {fault}")
    return address


def shown_url(text: str) -> str:
    """Return the address without its secrets, for display; an unreadable one is hidden whole."""
    try:
        address = read_address(text)
    except ConfigurationError:
        return HIDDEN
    url = _URL.fullmatch(address)
    if url is None:
        return _PAIR.sub(
            lambda pair: f"{pair[1]}{pair[2]}{HIDDEN}" if pair[1] in _SECRETS else pair[0], address
        )
    visible = address
    if url["options"]:
        names = [(option.partition("=")[0], option) for option in url["options"].split("&")]
        hidden = (
            f"{name}={HIDDEN}" if unquote(name) in _SECRETS else option for name, option in names
        )
        visible = visible[: url.start("options")] + "&".join(hidden)
    if url["hosts"] and not url["user"]:
        # Without an @, what looks like a host may be a user, and the port the password.
        host, _, port = url["hosts"].partition(":")
        is_known = not port or port == DEFAULT_PORT or not host or host == "localhost"
        if not is_known and _BARE_NAME.fullmatch(host):
            visible = f"{visible[: url.start('hosts')]}{host}:{HIDDEN}{visible[url.end('hosts') :]}"
    if url["password"]:
        visible = visible[: url.start("password")] + HIDDEN + visible[url.end("password") :]
    return visible


def holds_secret(text: str) -> bool:
    """Return whether the address contains a password; raise ConfigurationError."""
    return not _SECRETS.isdisjoint(conninfo_to_dict(read_address(text)))


def split_secrets(text: str) -> tuple[str, Mapping[str, str]]:
    """Return the address without its secrets, and the environment that gives libpq the password.

    libpq has no variable for the other secrets, such as a key file's password: programs ask for
    those.
    """
    # Others can see a program's arguments, but not its environment.
    parts = conninfo_to_dict(read_address(text))
    public: dict[str, Any] = {name: parts[name] for name in parts if name not in _SECRETS}
    password = parts.get("password")
    return make_conninfo(**public), {"PGPASSWORD": str(password)} if password else {}


def _is_url(address: str) -> bool:
    return _SCHEME.match(address) is not None


def _find_fault(address: str, parts: Mapping[str, str]) -> str | None:
    """Return the fault of an address that libpq parses, though not as it was meant, or None."""
    url = _URL.fullmatch(address)
    ports = parts.get("port", "").split(",")
    hosts = [host for host in parts.get("host", "").split(",") if not host.startswith(("/", "@"))]
    faults = {
        "there are two @; write one in a user's name or password as %40": (
            url and "@" in url["hosts"]
        ),
        "an @ follows a slash; write a slash in a password as %2F": (
            url and "@" in (url["path"] or "")
        ),
        "a user's name contains a colon; write only the one before a password as :": (
            ":" in parts.get("user", "")
        ),
        f"a port is not a number from 1 to {_HIGHEST_PORT}; write {_SHAPES}": (
            not all(map(_is_port, ports))
        ),
        f"a host's name has a character that names can't have; write {_SHAPES}": (
            any(map(_NO_HOST.search, hosts))
        ),
        f"the database's name is a URL; write {_SHAPES}": "://" in parts.get("dbname", ""),
    }
    return next((fault for fault, is_there in faults.items() if is_there), None)


def _is_port(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit() and 0 < int(text) <= _HIGHEST_PORT)


def _explain(address: str) -> str:
    """Return the fault of an address that libpq doesn't parse."""
    if not _is_url(address):
        if "=" in address and "://" not in address:
            return "a key is unknown, or a value with a space lacks its quotation marks"
        return f"it is not a PostgreSQL address; write {_SHAPES}"
    if _HALF_ESCAPE.search(address):
        return "two hexadecimal digits must follow a %; write % itself as %25"
    if _BLANK.search(address):
        return "it contains a space; write it as %20"
    if "[" in address:
        return "write an IPv6 address in square brackets, such as [::1]:5432"
    return "an option after the ? is unknown, or has no value"
