"""Idempotency keys of writes, which identify a repeated write."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the table. A repeated write is then executed again."""
    op.execute("DROP TABLE memsense.write_keys")
