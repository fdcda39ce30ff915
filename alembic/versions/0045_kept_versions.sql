-- Until when a version is kept that an edit replaced while the setting `history` was off.
ALTER TABLE memsense.superseded_chunks ADD COLUMN kept_until timestamptz;
CREATE INDEX superseded_chunks_kept_until ON memsense.superseded_chunks (tenant_id, scope_id, kept_until) WHERE kept_until IS NOT NULL;

COMMENT ON COLUMN memsense.superseded_chunks.kept_until IS 'When the version is deleted; null if it was replaced while the setting history was on.';
