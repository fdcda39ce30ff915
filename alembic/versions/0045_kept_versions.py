"""Former texts of edits, which are kept for a while without the setting `history`."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Add the column and its index, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column, and what is kept because of it."""
    op.execute("DELETE FROM memsense.superseded_chunks WHERE kept_until IS NOT NULL")
    op.execute("ALTER TABLE memsense.superseded_chunks DROP COLUMN kept_until")
