-- What is forgotten may be said again: only what is not forgotten counts as said already. An
-- exchange is known by the hash of its first part.
ALTER TABLE memsense.chunks DROP CONSTRAINT chunks_tenant_id_scope_id_content_hash_dedup_window_key;

CREATE UNIQUE INDEX chunks_content ON memsense.chunks (tenant_id, scope_id, content_hash, dedup_window)
    WHERE part = 0 AND status <> 'deleted';
