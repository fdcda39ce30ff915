-- Keys of writes: a write that is run again is recognised by its key. Every statement names one tenant.

-- name: claim_key
-- Waits for another transaction that has claimed the key; no key is claimed twice.
INSERT INTO memsense.write_keys (tenant_id, namespace_id, key_hash, asked_hash)
VALUES (%(tenant_id)s, %(namespace_id)s, %(key_hash)s, %(asked_hash)s)
ON CONFLICT (tenant_id, namespace_id, key_hash) DO NOTHING;

-- name: find_key
SELECT asked_hash, result
FROM memsense.write_keys
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND key_hash = %(key_hash)s;

-- name: keep_result
UPDATE memsense.write_keys
SET result = %(result)s
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND key_hash = %(key_hash)s;

-- name: drop_old_keys
-- Deletes a few at a time, as a part of other writes.
DELETE FROM memsense.write_keys
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
  AND key_hash = ANY (ARRAY(
      SELECT key_hash
      FROM memsense.write_keys
      WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
        AND recorded_at < now() - make_interval(days => %(days)s)
      ORDER BY recorded_at
      LIMIT 16
      FOR UPDATE SKIP LOCKED));
