"""The memory that a command works on: the global options, and how to open it."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import typer

import memsense
from memsense.errors import ConfigurationError, NotFoundError

if TYPE_CHECKING:
    from memsense.client.memory import MemSense
    from memsense.config import Settings
    from memsense.db.embedded import EmbeddedServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The global options of a call; None leaves the choice to the environment."""

    database_url: str | None = None
    tenant: str | None = None
    namespace: str | None = None

    def overrides(self) -> dict[str, str | None]:
        """Return the options by the setting that each overrides."""
        return asdict(self)

    def settings(self) -> "Settings":
        """Return the settings of the environment, overridden by the global options."""
        return memsense.load_settings(**self.overrides())

    def open(self) -> "MemSense":
        """Open the memory; raise the errors of `MemSense.open`."""
        settings = self.settings()
        # A command ends too soon to run background jobs that other processes have left.
        if settings.worker == "auto":
            settings = settings.model_copy(update={"worker": "off"})
        return memsense.MemSense.open(settings=settings)

    def embedded_server(self) -> "EmbeddedServer":
        """Return the embedded server's handle, whether or not the settings use that server."""
        return import_module("memsense.db.embedded").EmbeddedServer(self.settings().data_dir)

    @contextmanager
    def database(self) -> Generator[str]:
        """Yield the database's URL; the embedded server runs as long as the block does."""
        settings = self.settings()
        if settings.database_url:
            yield settings.database_url
            return
        # It stops when the block ends, unless another process uses it or `db start` keeps it.
        with self.embedded_server() as server:
            yield server.url


def target_of(ctx: typer.Context) -> Target:
    """Return the global options of this call."""
    return ctx.find_object(Target) or Target()


def check_profile(memory: "MemSense", name: str | None) -> None:
    """Raise ConfigurationError for a profile that is neither shipped nor stored here."""
    if name is None or name in import_module("memsense.search.profiles").PROFILES:
        return
    try:
        memory.profiles.get(name)
    except NotFoundError as error:
        # A wrong --profile is wrong usage (exit code 2); not to find one is 1 in `profile show`.
        raise ConfigurationError(str(error)) from error
