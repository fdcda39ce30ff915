"""Unique content without forgotten exchanges, so that their content can be stored again."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0009"
down_revision = "0008"

_BACK = """
    DROP INDEX memsense.chunks_content;
    UPDATE memsense.chunks SET content_hash = content_hash || ':' || chunk_id
    WHERE part > 0 OR status = 'deleted';
    ALTER TABLE memsense.chunks ADD UNIQUE (tenant_id, scope_id, content_hash, dedup_window);
"""


def upgrade() -> None:
    """Replace the constraint, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Require unique content again. Content that is stored twice gets a hash of its own."""
    op.execute(_BACK)
