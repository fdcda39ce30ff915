"""Column for the minimum score of a recorded search."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column."""
    op.execute("ALTER TABLE memsense.traces DROP COLUMN min_score")
