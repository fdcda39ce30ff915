"""New name for a column of scopes: a scope with its own indexes is called indexed."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Rename the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Rename the column back to promoted."""
    op.execute("ALTER TABLE memsense.scopes RENAME COLUMN indexed TO promoted")
