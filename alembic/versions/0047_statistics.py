"""Statistics of searches by minute, and the slowest searches of a day, without texts and users."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    """Create the tables, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the tables with all statistics."""
    op.execute("DROP TABLE memsense.search_minutes, memsense.slow_searches")
