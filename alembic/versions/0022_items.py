"""Items: values that frameworks store under keys, separate from conversations."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Create the tables, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the tables, with their data."""
    op.execute("DROP TABLE memsense.item_vectors, memsense.items")
