"""Preparation of a container before it serves: the schema, the roles and a first access key."""

from pathlib import Path

from memsense.client.tenants import Tenants
from memsense.config import Settings
from memsense.db import migrate
from memsense.db.connection import repeat_lost
from memsense.store.access import SCOPES

KEY_FILE = "first-key"


def prepare(settings: Settings, *, wait: float) -> Path | None:
    """Make the schema, the roles and an access key of all scopes where they are missing.

    A database of your own gets the first two only with `owner_url`, and is upgraded then. The
    embedded server has them from its own first start on.

    Args:
        settings: The settings of the memory.
        wait: Seconds to wait for the database's server.

    Returns:
        The file in the data directory that the new key was written to, for its owner's eyes alone;
        None if the tenant has or had keys already.

    Raises:
        ConnectionFailedError: If the database's server stays away.
        SchemaError: If the schema is missing, or the owner may not make it.
    """
    owner_url = settings.owner_url
    if settings.database_url and owner_url:
        repeat_lost(lambda _: migrate.upgrade(owner_url), wait, url=owner_url)
        migrate.make_roles(owner_url)
    with Tenants.open(settings, wait=wait) as tenants:
        keys = tenants.own.access_keys
        if keys.list():
            return None
        place = settings.data_dir / KEY_FILE
        place.parent.mkdir(parents=True, exist_ok=True)
        # Opened first: a folder that can't be written to must not cost the only key.
        place.touch(mode=0o600)
        place.chmod(0o600)  # also one that was there already
        place.write_text(f"{keys.create(SCOPES, name='first').text}\n", encoding="ascii")
    return place
