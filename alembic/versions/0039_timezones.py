"""Time zones and calendars in recorded searches."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Add the columns, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns: replays of what they say count UTC days again."""
    op.execute("ALTER TABLE memsense.traces DROP COLUMN timezone, DROP COLUMN calendar")
