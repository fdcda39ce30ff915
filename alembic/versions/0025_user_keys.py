"""Access keys for the memory of one user."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column and the keys of one user, which would open the whole tenant without it."""
    op.execute("DELETE FROM memsense.access_keys WHERE user_id IS NOT NULL")
    op.execute("ALTER TABLE memsense.access_keys DROP COLUMN user_id")
