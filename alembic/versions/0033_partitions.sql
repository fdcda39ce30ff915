-- Old months of what only grows can then be dropped at once, where deleting rows takes hours and a vacuum. All
-- rows are in the default partition until 'memsense db partition' creates partitions by month.
-- Foreign keys belong to the partitions: Citus adds none to a partitioned table that is distributed.

ALTER TABLE memsense.packed_candidates DROP CONSTRAINT packed_candidates_pkey;
ALTER TABLE memsense.packed_candidates RENAME TO packed_before;
CREATE TABLE memsense.packed_candidates (
    LIKE memsense.packed_before INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMMENTS,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, trace_id, recorded_at)
) PARTITION BY RANGE (recorded_at);
CREATE TABLE memsense.packed_candidates_default PARTITION OF memsense.packed_candidates DEFAULT;
COMMENT ON TABLE memsense.packed_candidates IS 'The candidates of a recorded search, all in one row: read them through trace_candidates. An array has an element for each candidate, by position.';
COMMENT ON COLUMN memsense.packed_candidates.recorded_at IS 'When the search was recorded, as its trace has it.';

ALTER TABLE memsense.packed_before DROP CONSTRAINT packed_candidates_tenant_id_trace_id_fkey;
ALTER TABLE memsense.traces DROP CONSTRAINT traces_pkey;
DROP INDEX memsense.traces_recorded_at;
ALTER TABLE memsense.traces RENAME TO traces_before;
CREATE TABLE memsense.traces (
    LIKE memsense.traces_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, trace_id, recorded_at)
) PARTITION BY RANGE (recorded_at);
CREATE INDEX traces_recorded_at ON memsense.traces (tenant_id, namespace, recorded_at DESC, trace_id);
CREATE TABLE memsense.traces_default PARTITION OF memsense.traces DEFAULT;
COMMENT ON TABLE memsense.traces IS 'Recorded searches: the question, what was asked for, every constant that ranked it, and how long each phase took.';

ALTER TABLE memsense.events DROP CONSTRAINT events_pkey;
DROP INDEX memsense.events_chunk;
ALTER TABLE memsense.events RENAME TO events_before;
CREATE TABLE memsense.events (
    LIKE memsense.events_before INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, event_id, recorded_at)
) PARTITION BY RANGE (recorded_at);
CREATE INDEX events_chunk ON memsense.events (tenant_id, scope_id, chunk_id, event_id);
CREATE TABLE memsense.events_default PARTITION OF memsense.events DEFAULT;
COMMENT ON TABLE memsense.events IS 'Append-only history of every chunk.';

ALTER TABLE memsense.past_chunks DROP CONSTRAINT past_chunks_pkey;
DROP INDEX memsense.past_chunks_until;
ALTER TABLE memsense.past_chunks RENAME TO past_before;
CREATE TABLE memsense.past_chunks (
    LIKE memsense.past_before INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING STORAGE INCLUDING COMMENTS,
    PRIMARY KEY (tenant_id, scope_id, chunk_id, past_id, until)
) PARTITION BY RANGE (until);
CREATE INDEX past_chunks_until ON memsense.past_chunks (tenant_id, scope_id, until);
CREATE TABLE memsense.past_chunks_default PARTITION OF memsense.past_chunks DEFAULT;
COMMENT ON TABLE memsense.past_chunks IS 'Chunks, their vectors and tokens as they were until a change: what a search as of then reads.';

ALTER TABLE memsense.namespaces ADD COLUMN past_since timestamptz;
COMMENT ON COLUMN memsense.namespaces.past_since IS 'Nothing is known of memory before this time: its history was dropped (memsense db partition); null: none was.';
