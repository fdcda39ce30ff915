"""Partitions by time of the tables that only grow: traces, events and the past."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0033"
down_revision = "0032"

FILE = Path(__file__)


def upgrade() -> None:
    """Create partitioned tables, copy the rows into their default partitions, drop the old ones.

    In two files, because on Citus the new tables are distributed between them. The rows are copied
    and not attached: an attached table may have no identity column, and Citus can't take that away.
    """
    run_file(op.get_bind(), FILE.with_suffix(".sql"))
    run_file(op.get_bind(), FILE.with_suffix(".fill.sql"))


def downgrade() -> None:
    """Put all rows into plain tables again."""
    run_file(op.get_bind(), FILE.with_suffix(".down.sql"))
