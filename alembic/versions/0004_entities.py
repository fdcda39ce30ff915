"""Entities that the chunks mention, and pairs of entities mentioned together."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the extracted entities. `memsense entities rebuild` extracts them again."""
    op.execute("DROP TABLE memsense.edges, memsense.mentions, memsense.entities")
    op.execute("DROP FUNCTION memsense.scope_spellings(integer, text)")
    op.execute("DROP FUNCTION memsense.spellings(text)")
    op.execute("ALTER TABLE memsense.chunks DROP COLUMN entities")
