"""Table of jobs: work that writes leave for later."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table. The view pending_embeddings still lists chunks without vectors."""
    op.execute("DROP TABLE memsense.jobs")
