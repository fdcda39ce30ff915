-- What an extractor found in a turn chunk, apart from the chunk: only memsense/graph reads it.

CREATE TABLE memsense.chunk_entities (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    chunk_id bigint NOT NULL,
    entities jsonb NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, chunk_id),
    FOREIGN KEY (tenant_id, scope_id, chunk_id) REFERENCES memsense.chunks ON DELETE CASCADE
);

INSERT INTO memsense.chunk_entities (tenant_id, scope_id, chunk_id, entities)
SELECT tenant_id, scope_id, chunk_id, entities FROM memsense.chunks WHERE granularity = 'turn' AND entities <> '[]';

ALTER TABLE memsense.chunks DROP COLUMN entities;

COMMENT ON TABLE memsense.chunk_entities IS 'What an extractor found in a turn chunk, active or not: key, name, kind and count of each entity.';
