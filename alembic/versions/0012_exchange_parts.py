"""Columns for the number of parts of an exchange, and for the length of the repeated opening."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0012"
down_revision = "0011"

_BACK = """
    UPDATE memsense.chunks SET user_text = substr(user_text, opening_length + 1)
    WHERE opening_length > 0;
    ALTER TABLE memsense.chunks DROP COLUMN part_count, DROP COLUMN opening_length;
"""


def upgrade() -> None:
    """Add both columns, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop both columns and cut the opening from the texts. Only a reindex removes its words."""
    op.execute(_BACK)
