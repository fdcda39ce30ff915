"""Suspension of tenants, and vacuum settings by what each table does."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0030"
down_revision = "0029"

TABLES = ("jobs", "scope_statistics", "lexemes", "chunks", "events", "traces")
SETTINGS = (
    "fillfactor",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_vacuum_threshold",
    "autovacuum_analyze_scale_factor",
    "autovacuum_vacuum_insert_scale_factor",
)


def upgrade() -> None:
    """Add the column and the settings, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column; suspended tenants are open again. Vacuum goes by the server's defaults."""
    op.execute("ALTER TABLE memsense.tenants DROP COLUMN suspended_at")
    for table in TABLES:
        op.execute(f"ALTER TABLE memsense.{table} RESET ({', '.join(SETTINGS)})")
