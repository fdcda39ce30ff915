"""What `memsense serve` is told."""

from dataclasses import dataclass
from ipaddress import ip_address

from memsense.errors import ConfigurationError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321
DEFAULT_RATE = 50.0
DEFAULT_BURST = 200
LARGEST_BODY = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where the server listens, and what it lets a caller do.

    `needs_key`: whether a request must show a key; without, whoever reaches it acts for the tenant
    of the settings, with all scopes. `rate` is how many requests a second one key may send for
    long, `burst` how many at once, `largest_body` bytes of a request.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    needs_key: bool = False
    rate: float = DEFAULT_RATE
    burst: int = DEFAULT_BURST
    largest_body: int = LARGEST_BODY

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.burst < 1 or self.largest_body < 1:
            raise ConfigurationError("rate, burst and largest body must be positive")

    def check_place(self) -> None:
        """Raise ConfigurationError where others than this machine would need no key."""
        if not self.needs_key and not is_loopback(self.host):
            raise ConfigurationError(
                f"{self.host} is no loopback address, and without keys anybody would reach all of"
                " the memory: make a key by 'memsense key create', or serve on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
