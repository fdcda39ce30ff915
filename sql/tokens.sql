-- Token vectors of exchanges. Every statement names one tenant.

-- name: insert_tokens
INSERT INTO memsense.token_vectors (tenant_id, scope_id, chunk_id, model_id, user_pieces, pieces, signs)
SELECT %(tenant_id)s, %(scope_id)s, chunk_id, %(model_id)s, user_pieces, pieces, signs
FROM unnest(%(chunk_ids)s::bigint[], %(user_pieces)s::smallint[], %(pieces)b::bytea[], %(signs)b::bytea[])
    AS token (chunk_id, user_pieces, pieces, signs);

-- name: delete_tokens
DELETE FROM memsense.token_vectors
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: lock_memory
-- Locks the memory as every write of it does.
SELECT scope_id FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
FOR NO KEY UPDATE;
