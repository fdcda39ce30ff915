-- What an exchange said before it was updated, or edited in its log; kept where the setting
-- `history` is on.
CREATE TABLE memsense.superseded_chunks (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    chunk_id bigint NOT NULL,
    version integer NOT NULL,
    content jsonb NOT NULL,
    superseded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, scope_id, chunk_id, version),
    FOREIGN KEY (tenant_id, scope_id, chunk_id) REFERENCES memsense.chunks ON DELETE CASCADE
);

COMMENT ON TABLE memsense.superseded_chunks IS 'Earlier versions of exchanges: texts, facets, tags, metadata and time; no search reads them.';
COMMENT ON COLUMN memsense.superseded_chunks.version IS 'From 1, the oldest that was kept.';
