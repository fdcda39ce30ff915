"""Chunks whose text a model doesn't know."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0040"
down_revision = "0038"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column: `memsense db fill` makes the vectors of these texts again."""
    op.execute("ALTER TABLE memsense.chunks DROP COLUMN unknown_to")
