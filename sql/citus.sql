-- Distribution of the tables over a Citus cluster, by tenant; `memsense init --citus` runs these statements.

-- name: find_citus
-- The version of the extension: the installed one, else the one that can be installed; null if there is
-- none.
SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'citus';

-- name: create_citus
CREATE EXTENSION citus;

-- name: let_local_references_go
-- Without this setting, making a reference table fails at the partitions of memsense.embeddings ("child
-- table is missing constraint").
SET citus.enable_local_reference_table_foreign_keys = off;

-- name: list_local_tables
-- The tables that are not distributed yet, without partitions, which are distributed with their table.
SELECT c.relname::text
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'alembic_version'
  AND NOT EXISTS (SELECT FROM pg_dist_partition AS d WHERE d.logicalrelid = c.oid)
ORDER BY c.relname;

-- name: list_references
-- Which table refers to which other one.
SELECT DISTINCT child.relname::text, parent.relname::text
FROM pg_constraint AS k
JOIN pg_class AS child ON child.oid = k.conrelid
JOIN pg_class AS parent ON parent.oid = k.confrelid
WHERE k.contype = 'f' AND child.relnamespace = 'memsense'::regnamespace AND child.oid <> parent.oid
  AND NOT child.relispartition AND NOT parent.relispartition
ORDER BY 1, 2;

-- name: create_reference_table
SELECT create_reference_table(format('memsense.%%I', %(name)s::text)::regclass);

-- name: create_distributed_table
SELECT create_distributed_table(
    format('memsense.%%I', %(name)s::text)::regclass, 'tenant_id', colocate_with => %(colocate_with)s);
