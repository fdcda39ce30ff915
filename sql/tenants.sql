-- Tenants as an operator sees them: listed, measured, suspended, dropped, copied. Run by the tables' owner or a
-- superuser; each statement but the list names one tenant.
-- Parameters:
--   name        the tenant's name
--   tenant_id   its number

-- name: find_held_user
-- The connecting user, if row-level security hides tenants from it.
SELECT current_user::text
WHERE row_security_active('memsense.tenants');

-- name: list_tenants
-- Every tenant, or the one of a name, by name.
SELECT t.tenant_id, t.name, t.recorded_at AS created_at, t.suspended_at
FROM memsense.tenants AS t
WHERE %(name)s::text IS NULL OR t.name = %(name)s
ORDER BY t.name;

-- name: count_tenants
-- What each tenant holds, or one of them, if it has any namespace. Chunks as the statistics count them. Sums by
-- tenant first, then joins: Citus refuses a sub-select for each row of a table that every node has.
SELECT n.tenant_id, n.namespaces, coalesce(s.users, 0) AS users, coalesce(c.chunks, 0) AS chunks
FROM (
    SELECT tenant_id, count(*) AS namespaces
    FROM memsense.namespaces
    WHERE %(tenant_id)s::integer IS NULL OR tenant_id = %(tenant_id)s
    GROUP BY tenant_id
) AS n
LEFT JOIN (
    SELECT tenant_id, count(*) AS users
    FROM memsense.scopes
    WHERE %(tenant_id)s::integer IS NULL OR tenant_id = %(tenant_id)s
    GROUP BY tenant_id
) AS s ON s.tenant_id = n.tenant_id
LEFT JOIN (
    SELECT tenant_id, sum(chunk_count)::bigint AS chunks
    FROM memsense.scope_statistics
    WHERE %(tenant_id)s::integer IS NULL OR tenant_id = %(tenant_id)s
    GROUP BY tenant_id
) AS c ON c.tenant_id = n.tenant_id;

-- name: set_suspended
UPDATE memsense.tenants SET suspended_at = %(suspended_at)s::timestamptz WHERE name = %(name)s;

-- name: list_tenant_tables
-- The tables that hold a tenant's rows, without partitions.
SELECT c.relname::text
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname;

-- name: list_columns
-- The columns of a table that a copy holds; generated ones are worked out again.
SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attidentity <> '' AS is_identity
FROM pg_attribute AS a
WHERE a.attrelid = format('memsense.%%I', %(table)s::text)::regclass AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attgenerated = ''
ORDER BY a.attnum;

-- name: measure_table
SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM memsense.{table} AS t
WHERE t.tenant_id = %(tenant_id)s;

-- name: delete_rows
DELETE FROM memsense.{table} WHERE tenant_id = %(tenant_id)s;

-- name: copy_out
COPY (SELECT {columns} FROM memsense.{table} WHERE tenant_id = {tenant_id}) TO STDOUT;

-- name: make_incoming
-- As text where a column's type isn't known to a copy of another version.
CREATE TEMPORARY TABLE incoming ({columns}) ON COMMIT DROP;

-- name: copy_in
COPY incoming FROM STDIN;

-- name: insert_incoming
INSERT INTO memsense.{table} ({columns}) SELECT {values} FROM incoming;

-- name: drop_incoming
DROP TABLE incoming;

-- name: find_last_number
SELECT max({column}) FROM memsense.{table} WHERE tenant_id = %(tenant_id)s;

-- name: advance_identity
-- The next number that the table gives lies behind all that were brought in. Apart from the rows, with which
-- Citus would send it to a worker node, where an identity has other numbers.
SELECT setval(name, greatest(%(last)s::bigint, nextval(name)))
FROM pg_get_serial_sequence(format('memsense.%%I', %(table)s::text), %(column)s) AS name;

-- name: list_used_models
SELECT m.model_id, m.name, m.dimension FROM memsense.models AS m ORDER BY m.model_id;
