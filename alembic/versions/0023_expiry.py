"""Expiry times of chunks, and receipts of expired chunks that were erased."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the column and its index, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop both. Chunks no longer expire; receipts of expired ones become receipts of chunks."""
    op.execute("ALTER TABLE memsense.chunks DROP COLUMN expires_at")
    op.execute("UPDATE memsense.erasures SET kind = 'chunk' WHERE kind = 'expired'")
    op.execute(
        "ALTER TABLE memsense.erasures DROP CONSTRAINT erasures_kind_check,"
        " ADD CONSTRAINT erasures_kind_check"
        " CHECK (kind IN ('user', 'session', 'message', 'chunk'))"
    )
    op.execute(
        "COMMENT ON COLUMN memsense.erasures.kind IS"
        " 'What was named: a user, a session, a message or a chunk.'"
    )
    op.execute(
        "COMMENT ON COLUMN memsense.jobs.kind IS"
        " 'What is to be done: embed, the vectors that a chunk lacks.'"
    )
    op.execute("DELETE FROM memsense.jobs WHERE kind = 'expire'")
