"""An index of the names that users give themselves, which every search of one user reads."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Create the index, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the index; the mentions stay."""
    op.execute("DROP INDEX memsense.mentions_self")
