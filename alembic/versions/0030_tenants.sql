-- A tenant may be suspended: its rows stay, and nobody reads or writes them until it is resumed.
ALTER TABLE memsense.tenants ADD COLUMN suspended_at timestamptz;

COMMENT ON COLUMN memsense.tenants.suspended_at IS 'Since when calls for this tenant are refused (memsense tenant suspend); null: they are not.';

-- Vacuum by what each table does. A job's row changes three times and goes: the table stays small only if it is
-- vacuumed by number and not by share. Statistics and document frequencies are updated by every write. Large
-- tables grow by inserts: by the default, a fifth of ten million rows would be dead before they are looked at.
ALTER TABLE memsense.jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE memsense.scope_statistics SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE memsense.lexemes SET (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE memsense.chunks SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE memsense.events SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
ALTER TABLE memsense.traces SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
