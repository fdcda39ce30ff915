"""Keys of messages' contents, and other names of sessions."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Add the column and the table, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop both: another export of a stored log is then stored again."""
    op.execute("DROP TABLE memsense.session_aliases")
    op.execute("ALTER TABLE memsense.ingested_messages DROP COLUMN content_key")
