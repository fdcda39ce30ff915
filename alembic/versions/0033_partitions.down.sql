-- Plain tables again, with the rows of all partitions.
ALTER TABLE memsense.packed_candidates RENAME TO packed_parts;
ALTER TABLE memsense.traces RENAME TO traces_parts;
ALTER TABLE memsense.events RENAME TO events_parts;
ALTER TABLE memsense.past_chunks RENAME TO past_parts;
ALTER TABLE memsense.packed_parts DROP CONSTRAINT packed_candidates_pkey;
ALTER TABLE memsense.traces_parts DROP CONSTRAINT traces_pkey;
ALTER TABLE memsense.events_parts DROP CONSTRAINT events_pkey;
ALTER TABLE memsense.past_parts DROP CONSTRAINT past_chunks_pkey;
DROP INDEX memsense.traces_recorded_at, memsense.events_chunk, memsense.past_chunks_until;

CREATE TABLE memsense.traces (
    LIKE memsense.traces_parts INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, trace_id)
);
CREATE TABLE memsense.packed_candidates (
    LIKE memsense.packed_parts INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, trace_id)
);
CREATE TABLE memsense.events (
    LIKE memsense.events_parts INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, event_id)
);
CREATE TABLE memsense.past_chunks (
    LIKE memsense.past_parts INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, scope_id, chunk_id, past_id)
);

INSERT INTO memsense.traces SELECT * FROM memsense.traces_parts;
INSERT INTO memsense.packed_candidates SELECT * FROM memsense.packed_parts;
INSERT INTO memsense.events SELECT * FROM memsense.events_parts;
INSERT INTO memsense.past_chunks SELECT * FROM memsense.past_parts;
SELECT setval(
    pg_get_serial_sequence('memsense.events', 'event_id'),
    coalesce((SELECT max(event_id) FROM memsense.events_parts), 0) + 1, false);
SELECT setval(
    pg_get_serial_sequence('memsense.past_chunks', 'past_id'),
    coalesce((SELECT max(past_id) FROM memsense.past_parts), 0) + 1, false);
DROP TABLE memsense.packed_parts, memsense.traces_parts, memsense.events_parts, memsense.past_parts;

ALTER TABLE memsense.packed_candidates DROP COLUMN recorded_at;
ALTER TABLE memsense.traces ADD FOREIGN KEY (tenant_id) REFERENCES memsense.tenants ON DELETE CASCADE;
ALTER TABLE memsense.traces ADD FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes ON DELETE CASCADE;
ALTER TABLE memsense.packed_candidates ADD FOREIGN KEY (tenant_id, trace_id) REFERENCES memsense.traces ON DELETE CASCADE;
ALTER TABLE memsense.events ADD FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes;
ALTER TABLE memsense.past_chunks ADD FOREIGN KEY (tenant_id, scope_id, chunk_id) REFERENCES memsense.chunks ON DELETE CASCADE;
CREATE INDEX traces_recorded_at ON memsense.traces (tenant_id, namespace, recorded_at DESC, trace_id);
CREATE INDEX events_chunk ON memsense.events (tenant_id, scope_id, chunk_id, event_id);
CREATE INDEX past_chunks_until ON memsense.past_chunks (tenant_id, scope_id, until);
ALTER TABLE memsense.events SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
ALTER TABLE memsense.traces SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
ALTER TABLE memsense.namespaces DROP COLUMN past_since;
COMMENT ON TABLE memsense.traces IS 'Recorded searches: the question, what was asked for, every constant that ranked it, and how long each phase took.';
COMMENT ON TABLE memsense.packed_candidates IS 'The candidates of a recorded search, all in one row: read them through trace_candidates. An array has an element for each candidate, by position.';
COMMENT ON TABLE memsense.events IS 'Append-only history of every chunk.';
COMMENT ON TABLE memsense.past_chunks IS 'Chunks, their vectors and tokens as they were until a change: what a search as of then reads.';
