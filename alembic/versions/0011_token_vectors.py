"""Token vectors of exchanges, in a table of their own."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table. Token vectors can be computed again."""
    op.execute("DROP TABLE memsense.token_vectors")
