"""Traces: recorded searches with all their candidates, for explanation and replay."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create both tables, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the traces; no memory depends on them."""
    op.execute("DROP TABLE memsense.packed_candidates, memsense.traces")
