"""Languages of texts and memories, and jobs that index stored texts by language."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Add the columns and leave the jobs, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns. Run the earlier version's `memsense db reindex` next: it finds few of the
    words that were indexed since.
    """
    run_file(op.get_bind(), Path(__file__).with_suffix(".down.sql"))
