"""Row-level security: every upgrade ends by putting a policy on each table that has a tenant.

The policies are in `sql/security.sql`, because each revision may add tables to them.
"""

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Change nothing: `env.py` creates the policies after all revisions."""


def downgrade() -> None:
    """Change nothing: `env.py` drops the policies below the newest revision."""
