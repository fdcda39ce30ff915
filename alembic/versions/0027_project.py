"""Project of each chunk: the repository or folder that the conversation was about.

Chunks of before have none. Their `source` can't say it: the folders that Claude Code names its logs
by write every other character than a letter or a digit as a hyphen ("-home-ada-my-app" may be
/home/ada/my-app or /home/ada/my/app), and only the folder itself knows its repository's address. A
guess would be a second name for the same project. Reading the logs again fills it in.
"""

from pathlib import Path

from alembic import op
from memsense.db.migrate import run_file

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add the column, as written in the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Drop the column. Chunks are no longer of a project; pools of sessions stay."""
    op.execute("ALTER TABLE memsense.chunks DROP COLUMN project")
