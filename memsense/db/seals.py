"""Seals: tokens by which the server recognises what tenant a process works for.

The process signs with a key from its environment, and the server checks with a copy that only the
tables' owner may read. Text that reaches the server as SQL can name no other tenant: it can't sign.
"""

import hmac
import time
from hashlib import sha256

from memsense.errors import ConfigurationError

TOKEN_SECONDS = 300
"""Time after which a token stops to count: for clocks that differ, and waits for a connection."""

LEAST_KEY = 32
_BLOCK = 64


def pad_key(key: str) -> tuple[bytes, bytes]:
    """Return the key with HMAC's two paddings (RFC 2104), 64 bytes; raise ConfigurationError."""
    raw = key.encode()
    if not LEAST_KEY <= len(raw) <= _BLOCK:
        raise ConfigurationError(
            f"a seal's key has {LEAST_KEY} to {_BLOCK} bytes, not {len(raw)}; make one with"
            " python -c 'import secrets; print(secrets.token_urlsafe(40))'"
        )
    padded = raw.ljust(_BLOCK, bytes(1))
    return bytes(it ^ 0x36 for it in padded), bytes(it ^ 0x5C for it in padded)


def sign_tenant(key: str, tenant: str, tenant_id: int | None) -> str:
    """Return the token of a tenant: the HMAC-SHA256 of its number, its expiry and its name.

    A tenant that is not stored yet has no number: its token lets it be found and created by name.
    """
    number = "" if tenant_id is None else tenant_id
    signed = f"{number}|{int(time.time()) + TOKEN_SECONDS}|{tenant}"
    return f"{hmac.new(key.encode(), signed.encode(), sha256).hexdigest()}|{signed}"
