"""Which memory a command works on: the global options, and how to open what they name."""

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
    from memsense.embed import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The global options as given; None leaves the choice to the environment."""

    database_url: str | None = None
    tenant: str | None = None
    namespace: str | None = None

    def given(self) -> dict[str, str | None]:
        """The options by the setting that each overrides."""
        return asdict(self)

    def settings(self) -> "Settings":
        """The settings, with the global options over the environment's."""
        return memsense.load_settings(**self.given())

    def open(self, *, for_few: bool = False) -> "MemSense":
        """The memory; raises the errors of `MemSense.open`.

        `for_few` texts to embed, such as one question, the model is loaded more quickly.
        """
        settings = self.settings()
        if settings.worker == "auto":  # a command ends too soon to do what others left for later
            settings = settings.model_copy(update={"worker": "off"})
        embedder = _open_embedder(settings) if for_few else None
        return memsense.MemSense.open(settings=settings, embedder=embedder)

    def embedded_server(self) -> "EmbeddedServer":
        """The embedded server's handle, whether or not the settings use it."""
        return import_module("memsense.db.embedded").EmbeddedServer(self.settings().data_dir)

    @contextmanager
    def database(self) -> Generator[str]:
        """The database's URL, with the embedded server running as long as the block does."""
        settings = self.settings()
        if settings.database_url:
            yield settings.database_url
            return
        with self.embedded_server() as server:
            yield server.url


def _open_embedder(settings: "Settings") -> "Embedder":
    return import_module("memsense.client.models").open_named_embedder(settings, for_few=True)


def target_of(ctx: typer.Context) -> Target:
    """The global options of this call."""
    return ctx.find_object(Target) or Target()


def check_profile(memory: "MemSense", name: str | None) -> None:
    """Raise ConfigurationError, listing what there is, for a profile that is neither shipped nor
    stored in the namespace.
    """
    if name is None or name in import_module("memsense.search.profiles").PROFILES:
        return
    try:
        memory.profiles.get(name)
    except NotFoundError as error:
        raise ConfigurationError(str(error)) from error
