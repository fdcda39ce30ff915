"""The keys by which programs reach a server of memsense."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop it: no key opens anything any more."""
    op.execute("DROP TABLE memsense.access_keys")
