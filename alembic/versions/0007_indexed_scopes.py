"""A scope that has indexes of its own is called indexed."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Rename the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Call it promoted again."""
    op.execute("ALTER TABLE memsense.scopes RENAME COLUMN indexed TO promoted")
