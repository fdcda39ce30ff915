-- A write to an indexed memory leaves its vectors fresh; a job takes them into the HNSW indexes.
ALTER TABLE memsense.embeddings ADD COLUMN fresh boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN memsense.embeddings.fresh IS
    'Not in the HNSW indexes of its memory yet: searches compare it by itself, and a job takes it in.';

-- Each is empty but for what waits.
CREATE INDEX embeddings_full_fresh ON memsense.embeddings_full (tenant_id, scope_id, model_id, chunk_id) WHERE fresh;
CREATE INDEX embeddings_user_fresh ON memsense.embeddings_user (tenant_id, scope_id, model_id, chunk_id) WHERE fresh;
CREATE INDEX embeddings_assistant_fresh ON memsense.embeddings_assistant (tenant_id, scope_id, model_id, chunk_id) WHERE fresh;
CREATE INDEX embeddings_personal_info_fresh ON memsense.embeddings_personal_info (tenant_id, scope_id, model_id, chunk_id) WHERE fresh;
CREATE INDEX embeddings_preferences_fresh ON memsense.embeddings_preferences (tenant_id, scope_id, model_id, chunk_id) WHERE fresh;
CREATE INDEX embeddings_events_fresh ON memsense.embeddings_events (tenant_id, scope_id, model_id, chunk_id) WHERE fresh;

-- HNSW indexes that are there have all vectors, fresh or not, and serve on; until they are built
-- anew, which is when this becomes true, a write pays for them itself as before.
ALTER TABLE memsense.scopes ADD COLUMN keeps_fresh boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN memsense.scopes.keeps_fresh IS
    'Whether new vectors stay fresh: its HNSW indexes leave fresh ones out, and a job takes them in.';
