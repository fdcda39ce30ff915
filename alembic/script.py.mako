"""${message}"""

from pathlib import Path

from alembic import op

from memsense.db.migrate import run_file

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Apply the SQL file of the same name."""
    run_file(op.get_bind(), Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Undo it."""
    raise NotImplementedError
