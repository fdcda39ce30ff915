"""Table for the entities found in a chunk, formerly a column of chunks."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0008"
down_revision = "0007"

_BACK = """
    ALTER TABLE memsense.chunks ADD COLUMN entities jsonb NOT NULL DEFAULT '[]';
    COMMENT ON COLUMN memsense.chunks.entities IS
        'What an extractor found in a turn chunk: key, name, kind and count of each entity.';
    UPDATE memsense.chunks AS c SET entities = kept.entities
    FROM memsense.chunk_entities AS kept
    WHERE kept.tenant_id = c.tenant_id AND kept.scope_id = c.scope_id
      AND kept.chunk_id = c.chunk_id AND kept.entities <> '[]';
    DROP TABLE memsense.chunk_entities;
"""


def upgrade() -> None:
    """Move the column of chunks to the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Move the table's contents back into the column of chunks."""
    op.execute(_BACK)
