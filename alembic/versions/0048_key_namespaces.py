"""Keys of one namespace."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column, and the keys of one namespace, which would open every other one."""
    op.execute("DELETE FROM memsense.access_keys WHERE namespace IS NOT NULL")
    op.execute("ALTER TABLE memsense.access_keys DROP COLUMN namespace")
