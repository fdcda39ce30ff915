"""Index of the exchanges in which users state standing rules."""

from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    """Create the index: a context reads a user's latest rules, which are few among many chunks."""
    op.execute(
        "CREATE INDEX chunks_rules ON memsense.chunks"
        " (tenant_id, scope_id, occurred_at DESC NULLS LAST, chunk_id DESC)"
        """ WHERE facet_spans @> '[{"rule": "standing"}]'::jsonb"""
    )


def downgrade() -> None:
    """Drop the index."""
    op.execute("DROP INDEX memsense.chunks_rules")
