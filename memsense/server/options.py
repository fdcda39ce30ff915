"""Options of `memsense serve`."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from memsense.errors import ConfigurationError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321
DEFAULT_RATE = 50.0
DEFAULT_BURST = 200
DEFAULT_QUEUE = 64
DEFAULT_PATIENCE = 10.0
LARGEST_BODY = 8 * 1024 * 1024
LARGEST_IMPORT = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Address of the server, and limits of its callers.

    Args:
        host: The address to listen on.
        port: The port; 0 takes any free one.
        needs_key: Require a key with each request. Without keys, every request acts for the tenant
            of the settings, with all scopes.
        rate: Requests per second that one key may send in the long run.
        burst: Requests that one key may send at once.
        slots: Requests that run at once, shared between the keys; 0 for as many as the machine
            and the pool serve well.
        queue: Requests of one key that may wait for a slot; of all keys, four times as many.
        patience: Seconds that a request may wait for a slot.
        largest_body: Largest size of a request's body, in bytes.
        largest_import: Largest size of an export or a log that is sent, in bytes.
        origins: Web sites whose pages may call the API, such as "https://app.example"; "*" for all.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    needs_key: bool = False
    rate: float = DEFAULT_RATE
    burst: int = DEFAULT_BURST
    slots: int = 0
    queue: int = DEFAULT_QUEUE
    patience: float = DEFAULT_PATIENCE
    largest_body: int = LARGEST_BODY
    largest_import: int = LARGEST_IMPORT
    origins: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.burst < 1 or self.largest_body < 1 or self.patience <= 0:
            raise ConfigurationError("--rate, --burst, --largest-body, --patience must be positive")
        if self.slots < 0 or self.queue < 0:
            raise ConfigurationError("--slots and --queue can't be negative")
        for origin in self.origins:
            parts = urlsplit(origin)
            if origin not in {"*", f"{parts.scheme}://{parts.netloc}"}:
                raise ConfigurationError(
                    f"--cors {origin!r} is no web site: write it as https://app.example"
                )

    def allows(self, origin: str) -> bool:
        """Return whether pages of this web site may call the API."""
        return origin in self.origins or "*" in self.origins

    def check_address(self) -> None:
        """Raise ConfigurationError if other machines could reach the server without a key."""
        if not self.needs_key and not is_loopback(self.host):
            raise ConfigurationError(
                f"{self.host} is not a loopback address, and without keys anybody could read and"
                " change the memory: create a key by 'memsense key create', or serve on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
