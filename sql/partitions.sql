-- Partitions by month of traces, events and the past; `memsense db partition` runs these statements, as the tables'
-- owner. Rows of months without a partition of their own are in the table's default partition.
-- Parameters:
--   table      name of a partitioned table
--   cutoff     rows of before this time go
--   begins_at  the first month that may get a partition

-- name: limit_waiting
-- A new or dropped partition locks its table for a moment. Whoever waits for the lock holds up all that come after.
SET LOCAL lock_timeout = '5s';

-- name: wait_for_turn
-- Two calls at once would create the same partitions.
SELECT pg_advisory_xact_lock(hashtext('memsense partitions'));

-- name: find_now
SELECT now();

-- name: list_partitions
-- The partitions of a table by month, the default one first.
SELECT
    c.relname::text AS name,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''([^'']+)''\)')::timestamptz AS begins_at,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz AS ends_at
FROM pg_inherits AS i
JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = format('memsense.%%I', %(table)s::text)::regclass
ORDER BY begins_at NULLS FIRST;

-- name: list_taken_months
-- The coming months of which the default partition has rows: they can have no partition of their own any more.
SELECT DISTINCT date_trunc('month', {column}, 'UTC')
FROM memsense.{partition}
WHERE {column} >= %(begins_at)s;

-- name: create_partition
CREATE TABLE memsense.{partition} PARTITION OF memsense.{table} FOR VALUES FROM ({begins_at}) TO ({ends_at});

-- name: list_default_properties
-- The foreign keys and the vacuum settings of a table's default partition, which every partition has.
SELECT 'ADD ' || pg_get_constraintdef(k.oid)
FROM pg_constraint AS k
WHERE k.conrelid = format('memsense.%%I', %(partition)s::text)::regclass AND k.contype = 'f'
UNION ALL
SELECT format('SET (%%s)', array_to_string(c.reloptions, ', '))
FROM pg_class AS c
WHERE c.oid = format('memsense.%%I', %(partition)s::text)::regclass AND c.reloptions IS NOT NULL
ORDER BY 1;

-- name: set_property
ALTER TABLE memsense.{partition} {property};

-- name: drop_partition
DROP TABLE memsense.{partition};

-- name: delete_older
DELETE FROM memsense.{partition} WHERE {column} < %(cutoff)s;

-- name: set_past_since
-- Of all tenants.
UPDATE memsense.namespaces SET past_since = %(cutoff)s WHERE past_since IS NULL OR past_since < %(cutoff)s;
