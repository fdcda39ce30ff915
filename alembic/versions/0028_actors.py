"""Actor of each event: the history says what happened and why, and now who or what did it."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column. Who caused the events is lost; what happened stays."""
    op.execute("ALTER TABLE memsense.events DROP COLUMN actor")
