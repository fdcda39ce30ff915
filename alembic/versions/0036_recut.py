"""Jobs that cut stored exchanges into parts of today's length."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Leave the jobs, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Remove the jobs. What was cut stays so: earlier versions read parts of any length."""
    op.execute("DELETE FROM memsense.jobs WHERE kind = 'recut'")
