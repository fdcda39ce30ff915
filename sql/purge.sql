-- Removal of the bytes that an erasure leaves in the server's files. PostgreSQL never removes keys from a GIN
-- index, and VACUUM leaves the bytes of a dead row in the hole of its page. Run by the owner, over all tenants.

-- name: fetch_horizon
-- The oldest transaction that somebody here may still see as running: rows that it or a later one deleted stay in
-- the tables, whatever is vacuumed. And whether the user may rewrite the server's own tables.
SELECT
    (SELECT xid::text
     FROM (
         SELECT pg_snapshot_xmax(pg_current_snapshot())::xid AS xid
         UNION ALL
         SELECT v.xid
         FROM pg_stat_activity AS a
         CROSS JOIN LATERAL (VALUES (a.backend_xmin), (a.backend_xid)) AS v (xid)
         WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
         UNION ALL
         SELECT p.transaction FROM pg_prepared_xacts AS p WHERE p.database = current_database()
         UNION ALL
         SELECT s.xmin FROM pg_replication_slots AS s
     ) AS held
     WHERE xid IS NOT NULL
     ORDER BY age(xid) DESC
     LIMIT 1) AS horizon,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_super;

-- name: may_purge
-- A row if the user who is connected, in whatever role, owns the tables and sees all tenants, on a single server.
SELECT true
FROM pg_class AS c
JOIN pg_roles AS u ON u.rolname = session_user
WHERE c.oid = 'memsense.tenants'::regclass AND to_regclass('pg_dist_local_group') IS NULL
  AND pg_has_role(u.oid, c.relowner, 'USAGE')
  AND (u.rolsuper OR u.rolbypassrls OR NOT c.relforcerowsecurity);

-- name: list_texts
-- The tables with words of users, the largest last. Those of vectors alone are left out: they hold no word.
SELECT format('%%I.%%I', n.nspname, c.relname) AS name, pg_total_relation_size(c.oid) AS bytes
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'memsense' AND c.relkind = 'r' AND c.relname !~ '^(embeddings|token_vectors)' AND c.relname <> 'alembic_version'
ORDER BY bytes, name;

-- name: list_leftovers
-- Indexes that a broken REINDEX CONCURRENTLY has left.
SELECT format('%%I.%%I', n.nspname, c.relname)
FROM pg_index AS x
JOIN pg_class AS c ON c.oid = x.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'memsense' AND NOT x.indisvalid AND c.relname ~ '_cc(new|old)[0-9]*$'
ORDER BY 1;

-- name: list_indexes_of_texts
-- The indexes whose keys are texts or are made of them: the GIN indexes, and trees over a text.
SELECT format('%%I.%%I', n.nspname, c.relname)
FROM pg_index AS x
JOIN pg_class AS c ON c.oid = x.indexrelid AND c.relkind = 'i'
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_am AS m ON m.oid = c.relam
WHERE n.nspname = 'memsense' AND c.relname <> 'alembic_version_pkc' AND m.amname IN ('gin', 'btree', 'gist', 'hash')
  AND EXISTS (
      SELECT FROM pg_attribute AS a
      JOIN pg_type AS t ON t.oid = a.atttypid
      WHERE a.attrelid = c.oid AND (t.typcategory IN ('S', 'A') OR m.amname = 'gin'))
ORDER BY pg_relation_size(c.oid), 1;

-- name: vacuum
VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) {name};

-- name: rewrite
VACUUM (FULL, ANALYZE) {name};

-- name: rebuild
REINDEX INDEX CONCURRENTLY {name};

-- name: drop
DROP INDEX CONCURRENTLY {name};

-- name: checkpoint
CHECKPOINT;

-- name: mark_purged
-- The receipts of what nobody could see any more when the purge began.
UPDATE memsense.erasures AS e
SET purged_at = coalesce(e.purged_at, now()),
    purged_full_at = CASE WHEN %(is_full)s THEN coalesce(e.purged_full_at, now()) ELSE e.purged_full_at END
WHERE age(e.xmin) > age(%(horizon)s::text::xid)
  AND (e.purged_at IS NULL OR %(is_full)s AND e.purged_full_at IS NULL);

-- name: count_unpurged
SELECT count(*) FROM memsense.erasures AS e
WHERE e.purged_at IS NULL OR %(is_full)s AND e.purged_full_at IS NULL;
