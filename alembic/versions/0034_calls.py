"""Sums of calls by user, verb and day, where a process counts them (MEMSENSE_METERING)."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table with all sums."""
    op.execute("DROP TABLE memsense.calls")
