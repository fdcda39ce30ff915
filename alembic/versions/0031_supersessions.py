"""Statements that supersede earlier ones, found when they are written."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table; searches judge by themselves what superseded what."""
    op.execute("DROP TABLE memsense.supersessions")
