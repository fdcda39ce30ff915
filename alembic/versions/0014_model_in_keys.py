"""The model in the keys of vectors, so that a chunk can have vectors of several models."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Change the keys, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Remove the model from the keys. Vectors of models that searches don't use are deleted, and so
    are the HNSW indexes of a single model; `optimise` builds them again for all vectors.
    """
    run_file(op.get_bind(), Path(__file__).with_suffix(".down.sql"))
