"""The model in the keys of vectors, so that a chunk may have those of several models."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Put it there, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Take it out: vectors of models that are not searched with go, and HNSW indexes of one model
    too, which `optimise` builds again for all.
    """
    run_file(op.get_bind(), Path(__file__).with_suffix(".down.sql"))
