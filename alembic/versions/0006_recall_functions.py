"""Nothing but the functions that recall calls, which every migration creates anew."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Change no table."""


def downgrade() -> None:
    """Change no table."""
