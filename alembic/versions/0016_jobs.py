"""Work that writes leave for later, in a table of its own."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop it: what waits for its vectors is in the view pending_embeddings, too."""
    op.execute("DROP TABLE memsense.jobs")
