"""Times at which erased texts have left the files of the server."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Add the columns, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns."""
    op.execute("ALTER TABLE memsense.erasures DROP COLUMN purged_at, DROP COLUMN purged_full_at")
