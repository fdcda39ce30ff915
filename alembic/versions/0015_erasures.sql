-- What was erased is known by a salted hash alone, so that an erasure can be proved to whoever
-- names the id, and read by nobody else.
CREATE TABLE memsense.erasures (
    tenant_id integer NOT NULL,
    erasure_id uuid NOT NULL,
    namespace_id integer NOT NULL,
    kind text NOT NULL CHECK (kind IN ('user', 'session', 'message', 'chunk')),
    salt bytea NOT NULL,
    user_hash bytea NOT NULL,
    subject_hash bytea NOT NULL,
    counts jsonb NOT NULL,
    erased_by text NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, erasure_id),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces ON DELETE CASCADE
);

CREATE INDEX erasures_erased_at ON memsense.erasures (tenant_id, namespace_id, erased_at DESC, erasure_id);

COMMENT ON TABLE memsense.erasures IS 'Receipts of what was erased for good: no text, no id, only hashes and counts.';
COMMENT ON COLUMN memsense.erasures.kind IS 'What was named: a user, a session, a message or a chunk.';
COMMENT ON COLUMN memsense.erasures.user_hash IS 'Whose memory it was: scrypt of the user''s id with the salt (n 16384, r 8, p 1, 32 bytes).';
COMMENT ON COLUMN memsense.erasures.subject_hash IS 'What was named, hashed the same way: the id of the user, session, message or chunk.';
COMMENT ON COLUMN memsense.erasures.counts IS 'How many rows were deleted, by table.';
