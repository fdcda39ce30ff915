-- What expires is hidden from that moment on, and swept by a job later.
ALTER TABLE memsense.chunks ADD COLUMN expires_at timestamptz;

COMMENT ON COLUMN memsense.chunks.expires_at IS
    'From then on nothing shows the chunk, and a job sweeps it away; null: it never expires.';

-- Every search looks here for what has expired and is not swept yet: most often for nothing.
CREATE INDEX chunks_expires_at ON memsense.chunks (tenant_id, scope_id, expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE memsense.erasures
    DROP CONSTRAINT erasures_kind_check,
    ADD CONSTRAINT erasures_kind_check CHECK (kind IN ('user', 'session', 'message', 'chunk', 'expired'));

COMMENT ON COLUMN memsense.erasures.kind IS 'What was named: a user, a session, a message or a chunk; or chunks of a user that expired.';

COMMENT ON COLUMN memsense.jobs.kind IS 'What is to be done: embed, the vectors that a chunk lacks; expire, sweeping what has expired of a memory.';
