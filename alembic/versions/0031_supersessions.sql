-- What one exchange says is no longer true since another one: found when the newer is written, and gone when
-- either of them changes or leaves.
CREATE TABLE memsense.supersessions (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    chunk_id bigint NOT NULL,
    older_id bigint NOT NULL,
    reason text NOT NULL,
    strength double precision NOT NULL,
    found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, scope_id, chunk_id, older_id),
    FOREIGN KEY (tenant_id, scope_id, chunk_id) REFERENCES memsense.chunks ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, scope_id, older_id) REFERENCES memsense.chunks ON DELETE CASCADE
);

CREATE INDEX supersessions_older ON memsense.supersessions (tenant_id, scope_id, older_id);

COMMENT ON TABLE memsense.supersessions IS 'Exchanges whose statement a newer one has replaced. Both stay stored; a search ranks them by what its question asks for.';
COMMENT ON COLUMN memsense.supersessions.chunk_id IS 'The newer exchange.';
COMMENT ON COLUMN memsense.supersessions.reason IS 'Words of change of the newer exchange, such as "no longer".';
COMMENT ON COLUMN memsense.supersessions.strength IS 'Logit of the chance that it is so.';
