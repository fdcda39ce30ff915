"""Earlier versions of exchanges."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table. Current versions stay stored."""
    op.execute("DROP TABLE memsense.superseded_chunks")
