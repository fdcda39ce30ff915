"""Receipts of secrets that were taken out of stored texts."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Allow the kind, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop these receipts, which earlier versions don't know."""
    op.execute("DELETE FROM memsense.erasures WHERE kind = 'secrets'")
    op.execute(
        "ALTER TABLE memsense.erasures DROP CONSTRAINT erasures_kind_check,"
        " ADD CONSTRAINT erasures_kind_check"
        " CHECK (kind IN ('user', 'session', 'message', 'chunk', 'expired'))"
    )
    op.execute(
        "COMMENT ON COLUMN memsense.erasures.kind IS 'What was named: a user, a session, a message"
        " or a chunk; or chunks of a user that expired.'"
    )
