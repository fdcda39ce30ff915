-- Distribution of the tables over a Citus cluster, by tenant; `memsense init --citus` runs these statements.

-- name: find_citus
-- The version of the extension: the installed one, else the one that can be installed; null if there is
-- none, or the server has not loaded its library.
SELECT installed_version, default_version
FROM pg_available_extensions
WHERE name = 'citus' AND current_setting('citus.multi_shard_modify_mode', true) IS NOT NULL;

-- name: has_seals
SELECT to_regclass('memsense.seals') IS NOT NULL;

-- name: find_seals
-- Whether tenants are sealed.
SELECT EXISTS (SELECT FROM memsense.seals);

-- name: create_citus
CREATE EXTENSION citus;

-- name: find_group
-- 0 on the coordinator, more on a worker node.
SELECT groupid FROM pg_dist_local_group;

-- name: knows_nodes
-- Whether the database has Citus: without it, the other statements find no such tables.
SELECT to_regclass('pg_dist_local_group') IS NOT NULL;

-- name: is_spread
SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('memsense.namespaces'));

-- name: find_owner
-- The role that owns the tables wherever it exists; null if it doesn't.
SELECT to_regrole('memsense_owner')::text;

-- name: create_roles
-- Each node for itself: Citus would pass the coordinator's new role on to workers that are creating it, too.
SELECT run_command_on_all_nodes(format($command$
    DO $do$
    BEGIN
        SET LOCAL citus.enable_create_role_propagation = off;
        SET LOCAL citus.enable_alter_role_propagation = off;
        CREATE ROLE %1$I LOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
        SET LOCAL citus.enable_alter_role_propagation = off;
        ALTER ROLE %1$I LOGIN;
    END $do$ $command$, name))
FROM unnest(ARRAY['memsense_owner', 'memsense_app']) AS name;

-- name: grant_models
-- Roles from before the extension lack a right that it asks for where a new model is added.
DO $$
BEGIN
    IF to_regrole('memsense_app') IS NOT NULL AND has_table_privilege('memsense_app', 'memsense.models', 'INSERT') THEN
        GRANT UPDATE ON memsense.models TO memsense_app;
    END IF;
END $$;

-- name: prepare_session
-- With references of local tables, making a reference table fails at the partitions of memsense.embeddings
-- ("child table is missing constraint"). In sequence, because a transaction that has changed a table that
-- every node has may not open several connections to one node.
SET LOCAL citus.enable_local_reference_table_foreign_keys = off;
SET LOCAL citus.multi_shard_modify_mode = 'sequential';

-- name: set_on_every_node
-- What session.sql says to the coordinator does not reach the workers, which run the searches.
SELECT run_command_on_all_nodes(format('ALTER DATABASE %I SET %s', current_database(), setting))
FROM unnest(ARRAY[
    'jit = off', 'max_parallel_workers_per_gather = 0', 'hnsw.iterative_scan = relaxed_order',
    'citus.propagate_set_commands = local'
]) AS setting;

-- name: list_local_tables
-- The tables that are not distributed yet, without partitions, which are distributed with their table.
SELECT c.relname::text
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'alembic_version'
  AND NOT EXISTS (SELECT FROM pg_dist_partition AS d WHERE d.logicalrelid = c.oid)
ORDER BY c.relname;

-- name: list_references
-- Which table refers to which other one; a partition's references are those of its table.
SELECT DISTINCT child.relname::text, parent.relname::text
FROM pg_constraint AS k
LEFT JOIN pg_inherits AS i ON i.inhrelid = k.conrelid
JOIN pg_class AS child ON child.oid = coalesce(i.inhparent, k.conrelid)
JOIN pg_class AS parent ON parent.oid = k.confrelid
WHERE k.contype = 'f' AND child.relnamespace = 'memsense'::regnamespace AND child.oid <> parent.oid
  AND NOT parent.relispartition
ORDER BY 1, 2;

-- name: create_reference_table
SELECT create_reference_table(format('memsense.%%I', %(name)s::text)::regclass);

-- name: create_distributed_table
SELECT create_distributed_table(
    format('memsense.%%I', %(name)s::text)::regclass, 'tenant_id', colocate_with => %(colocate_with)s);
