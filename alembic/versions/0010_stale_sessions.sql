-- A turn's write marks its session; a search of sessions, or a job, makes the session chunks anew.
CREATE TABLE memsense.stale_sessions (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    session_id text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, scope_id, session_id),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes ON DELETE CASCADE
);

COMMENT ON TABLE memsense.stale_sessions IS 'Sessions whose session chunks are yet to be made, or made anew, from their exchanges.';

-- A search that names no granularity takes the profile's.
ALTER TABLE memsense.traces ALTER COLUMN granularity DROP NOT NULL;

COMMENT ON COLUMN memsense.traces.granularity IS 'turn or session as asked for; null: the profile''s; auto: of a version before, sessions where any were stored.';
