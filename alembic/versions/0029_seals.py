"""Sealed tenants, and a table of models that the application's role may only add to."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Create the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop it. Policies compare with a plain setting again, which any statement may set."""
    op.execute("DROP TABLE memsense.seals")
