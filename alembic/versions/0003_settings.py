"""Settings, stored profiles and projects of a namespace, which can be changed at run time."""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop settings and projects. Searches use the built-in defaults again."""
    op.execute(
        "DROP TABLE memsense.project_sessions, memsense.projects, memsense.settings_history,"
        " memsense.profiles, memsense.settings"
    )
    op.execute("ALTER TABLE memsense.namespaces DROP COLUMN settings_version")
