"""Languages of models, and marks of the vectors that another model's stand in for."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Add the columns, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns. Searches then read the vectors of one model alone."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".down.sql"))
