"""Keys that open one user's memory alone."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop it, with the keys that it held to one user: they would open the whole tenant."""
    op.execute("DELETE FROM memsense.access_keys WHERE user_id IS NOT NULL")
    op.execute("ALTER TABLE memsense.access_keys DROP COLUMN user_id")
