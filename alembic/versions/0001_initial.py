"""First schema: tenants, scopes, chunks, embeddings, lexical statistics, events, ledger."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop all tables, with their data."""
    op.execute(
        "DROP TABLE memsense.ingested_messages, memsense.events, memsense.embeddings,"
        " memsense.chunks, memsense.lexemes, memsense.scope_statistics, memsense.scopes,"
        " memsense.namespaces, memsense.models, memsense.tenants CASCADE"
    )
    op.execute("DROP FUNCTION memsense.scope_lexemes(integer, tsvector)")
