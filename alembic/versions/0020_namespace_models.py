"""Models that a namespace has vectors for, besides the one that its searches use."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE memsense.namespace_models")
