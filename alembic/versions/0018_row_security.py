"""Row-level security: every upgrade ends by putting a policy on each table that has a tenant.

The policies stand in `sql/security.sql`, since what they guard grows with each revision.
"""

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Nothing here: `env.py` secures the tables once all revisions are through."""


def downgrade() -> None:
    """Nothing either: `env.py` takes the policies away below the newest revision."""
