"""Kinds of prompts in recorded searches."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Add the columns, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the columns: which prompts were read as requests is lost."""
    op.execute("ALTER TABLE memsense.traces DROP COLUMN request_share, DROP COLUMN kind_by")
