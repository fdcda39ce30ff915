"""Marks of sessions whose chunks are still to be made; traces may leave the granularity open."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0010"
down_revision = "0009"

_BACK = """
    DROP TABLE memsense.stale_sessions;
    UPDATE memsense.traces SET granularity = returned WHERE granularity IS NULL;
    ALTER TABLE memsense.traces ALTER COLUMN granularity SET NOT NULL;
    COMMENT ON COLUMN memsense.traces.granularity IS NULL;
"""


def upgrade() -> None:
    """Add the table of marks, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the marks. Missing session chunks are then made only when their session grows."""
    op.execute(_BACK)
