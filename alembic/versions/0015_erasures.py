"""Receipts of erasures."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the receipts."""
    op.execute("DROP TABLE memsense.erasures")
