"""Options of `memsense serve`."""

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
    """Address of the server, and limits of its callers.

    Args:
        host: The address to listen on.
        port: The port; 0 takes any free one.
        needs_key: Require a key with each request. Without keys, every request acts for the tenant
            of the settings, with all scopes.
        rate: Requests per second that one key may send in the long run.
        burst: Requests that one key may send at once.
        largest_body: Largest size of a request's body, in bytes.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    needs_key: bool = False
    rate: float = DEFAULT_RATE
    burst: int = DEFAULT_BURST
    largest_body: int = LARGEST_BODY

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.burst < 1 or self.largest_body < 1:
            raise ConfigurationError("--rate, --burst and --largest-body must be positive")

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
