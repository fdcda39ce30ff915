"""Earlier states of chunks, and the time at which a recorded search read them."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table. Searches see only the present state."""
    op.execute("DROP TABLE memsense.past_chunks")
    op.execute("ALTER TABLE memsense.traces DROP COLUMN recalled_at")
