"""Access keys, with which programs use a memsense server."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table. No access key is valid any more."""
    op.execute("DROP TABLE memsense.access_keys")
