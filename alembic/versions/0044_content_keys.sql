-- By the key of its content, a message is recognised in another export of its log. What was stored before gets its key
-- when its log is read again.
ALTER TABLE memsense.ingested_messages ADD COLUMN content_key bytea;

CREATE INDEX ingested_messages_content ON memsense.ingested_messages (tenant_id, scope_id, format, content_key);

COMMENT ON COLUMN memsense.ingested_messages.content_key IS 'Hashes of role and text without secrets (8 bytes), of the speaker (4), and the minute (4); null until the log is read again.';

CREATE TABLE memsense.session_aliases (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    format text NOT NULL,
    alias text NOT NULL,
    session_id text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, scope_id, format, alias),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes
);

COMMENT ON TABLE memsense.session_aliases IS 'Names that other exports of a log gave to a stored session.';
