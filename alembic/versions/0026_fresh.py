"""Marks of vectors that are not yet in the HNSW indexes."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the columns and the index, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns and the index, and with them the HNSW indexes that exclude fresh vectors.
    `optimise` builds those again with all vectors.
    """
    op.execute("UPDATE memsense.scopes SET indexed = false WHERE keeps_fresh")
    op.execute("ALTER TABLE memsense.scopes DROP COLUMN keeps_fresh")
    op.execute("ALTER TABLE memsense.embeddings DROP COLUMN fresh")
    op.execute("DELETE FROM memsense.jobs WHERE kind = 'settle'")
