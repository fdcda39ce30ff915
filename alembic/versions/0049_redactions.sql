ALTER TABLE memsense.erasures
    DROP CONSTRAINT erasures_kind_check,
    ADD CONSTRAINT erasures_kind_check CHECK (kind IN ('user', 'session', 'message', 'chunk', 'expired', 'secrets'));

COMMENT ON COLUMN memsense.erasures.kind IS
    'What was named: a user, a session, a message or a chunk; chunks of a user that expired; or the secrets in stored texts.';
