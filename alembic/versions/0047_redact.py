"""Namespaces of before go on storing what calls bring as it is."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0047"
down_revision = "0041"


def upgrade() -> None:
    """Add the setting, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the setting, which earlier versions don't know."""
    op.execute("DELETE FROM memsense.settings WHERE name = 'redact'")
