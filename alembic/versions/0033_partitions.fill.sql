-- The rows of before, in the default partitions, with the foreign keys and the vacuum settings that they had.
INSERT INTO memsense.packed_candidates
SELECT p.*, t.recorded_at
FROM memsense.packed_before AS p
JOIN memsense.traces_before AS t ON t.tenant_id = p.tenant_id AND t.trace_id = p.trace_id;

INSERT INTO memsense.traces SELECT * FROM memsense.traces_before;
ALTER TABLE memsense.traces_default ADD FOREIGN KEY (tenant_id) REFERENCES memsense.tenants ON DELETE CASCADE;
ALTER TABLE memsense.traces_default ADD FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes ON DELETE CASCADE;
ALTER TABLE memsense.traces_default SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);

INSERT INTO memsense.events SELECT * FROM memsense.events_before;
SELECT setval(
    pg_get_serial_sequence('memsense.events', 'event_id'),
    coalesce((SELECT max(event_id) FROM memsense.events_before), 0) + 1, false);
ALTER TABLE memsense.events_default ADD FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes;
ALTER TABLE memsense.events_default SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);

INSERT INTO memsense.past_chunks SELECT * FROM memsense.past_before;
SELECT setval(
    pg_get_serial_sequence('memsense.past_chunks', 'past_id'),
    coalesce((SELECT max(past_id) FROM memsense.past_before), 0) + 1, false);
ALTER TABLE memsense.past_chunks_default ADD FOREIGN KEY (tenant_id, scope_id, chunk_id) REFERENCES memsense.chunks ON DELETE CASCADE;

DROP TABLE memsense.packed_before;
DROP TABLE memsense.traces_before;
DROP TABLE memsense.events_before;
DROP TABLE memsense.past_before;
