"""Functions that recall calls; every migration creates them, so no table changes here."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Change no table."""


def downgrade() -> None:
    """Change no table."""
