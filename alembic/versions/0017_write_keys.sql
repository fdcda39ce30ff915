-- A write's key, kept with what it gave in the write's own transaction: run again under its key, it
-- gives that again. Neither the key nor what was asked is readable here.
CREATE TABLE memsense.write_keys (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    key_hash bytea NOT NULL,
    asked_hash bytea NOT NULL,
    result jsonb,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, namespace_id, key_hash),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces ON DELETE CASCADE
);

CREATE INDEX write_keys_recorded_at ON memsense.write_keys (tenant_id, namespace_id, recorded_at);

COMMENT ON TABLE memsense.write_keys IS 'Keys of the writes of the last seven days: one that is run again under its key is done once.';
COMMENT ON COLUMN memsense.write_keys.asked_hash IS 'Of what the write was to do: the key is refused for anything else.';
COMMENT ON COLUMN memsense.write_keys.result IS 'What it gave: ids of chunks, or a score.';
