"""Index for the filter by tags."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the index, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the index."""
    op.execute("DROP INDEX memsense.chunks_scope_tags")
    op.execute("DROP FUNCTION memsense.scope_tags(integer, text[])")
