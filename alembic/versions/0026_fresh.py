"""Vectors that a memory's HNSW indexes do not have yet."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the columns and the index, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop them, and with the column the HNSW indexes that leave fresh vectors out, which
    `optimise` builds again with all.
    """
    op.execute("UPDATE memsense.scopes SET indexed = false WHERE keeps_fresh")
    op.execute("ALTER TABLE memsense.scopes DROP COLUMN keeps_fresh")
    op.execute("ALTER TABLE memsense.embeddings DROP COLUMN fresh")
    op.execute("DELETE FROM memsense.jobs WHERE kind = 'settle'")
