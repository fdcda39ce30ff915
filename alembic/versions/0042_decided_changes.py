"""Changes of facts that a user confirmed, rejected or named."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    """Add the columns, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns, and the pairs that were rejected, which no older version understands."""
    op.execute("DELETE FROM memsense.supersessions WHERE state = 'rejected'")
    op.execute(
        "ALTER TABLE memsense.supersessions DROP COLUMN state, DROP COLUMN evidence,"
        " DROP COLUMN decided_by, DROP COLUMN decided_at"
    )
    comments = {
        "TABLE memsense.supersessions": "Exchanges whose statement a newer one has replaced. Both"
        " stay stored; a search ranks them by what its question asks for.",
        "COLUMN memsense.supersessions.reason": "Words of change of the newer exchange, such as"
        ' "no longer".',
    }
    for place, comment in comments.items():
        op.execute(f"COMMENT ON {place} IS '{comment}'")
