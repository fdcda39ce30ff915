-- Policies that keep tenants apart in every statement. Each part may be run again, and finds its
-- tables in the catalogue: a new table needs no line here.

-- name: lift_policies
-- Migrations change rows of all tenants: the tables' owner is exempt until they are done.
DO $$
DECLARE
    name regclass;
BEGIN
    FOR name IN
        SELECT c.oid FROM pg_class AS c
        WHERE c.relnamespace = 'memsense'::regnamespace AND c.relforcerowsecurity
    LOOP
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;

-- name: drop_policies
DO $$
DECLARE
    name regclass;
    item regprocedure;
BEGIN
    FOR name IN
        SELECT c.oid FROM pg_class AS c
        WHERE c.relnamespace = 'memsense'::regnamespace AND c.relrowsecurity
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS one_tenant ON %s', name);
        EXECUTE format('DROP POLICY IF EXISTS by_index ON %s', name);
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY', name);
    END LOOP;
    FOR item IN
        SELECT p.oid::regprocedure FROM pg_proc AS p
        WHERE p.proleakproof AND p.pronamespace = 'memsense'::regnamespace
    LOOP
        EXECUTE format('ALTER FUNCTION %s NOT LEAKPROOF', item);
    END LOOP;
END $$;

-- name: is_served
-- Whether GIN indexes serve under the policies.
NOT EXISTS (
    SELECT FROM pg_proc AS p
    WHERE NOT p.proleakproof
      AND (p.oid IN ('pg_catalog.arrayoverlap(anyarray,anyarray)'::regprocedure,
                     'pg_catalog.arraycontains(anyarray,anyarray)'::regprocedure)
           OR p.pronamespace = 'memsense'::regnamespace AND p.proname LIKE 'scope\_%'))

-- name: mark_leakproof
-- Under a policy no index serves a condition unless its operator is known to reveal nothing of the rows that
-- it compares. Only a superuser may mark that: for the comparisons that memsense's GIN indexes answer, and
-- for the functions that they are built over, which compare texts and build arrays, and for that of the index of
-- lexemes by their ends.
DO $$
DECLARE
    name regprocedure;
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        RETURN;
    END IF;
    FOR name IN
        SELECT p.oid FROM pg_proc AS p
        WHERE NOT p.proleakproof
          AND (p.oid IN ('pg_catalog.arrayoverlap(anyarray,anyarray)'::regprocedure,
                         'pg_catalog.arraycontains(anyarray,anyarray)'::regprocedure,
                         'pg_catalog.reverse(text)'::regprocedure)
               OR p.pronamespace = 'memsense'::regnamespace AND p.proname LIKE 'scope\_%')
    LOOP
        EXECUTE format('ALTER FUNCTION %s LEAKPROOF', name);
    END LOOP;
END $$;

-- name: create_token_functions
-- find_token: what a valid token has signed, 'ID|EXPIRY|NAME', and null for any other text. It runs as the tables'
-- owner, who alone may read the keys. find_own_tenant: the tenant that a transaction works for.
CREATE OR REPLACE FUNCTION memsense.find_token() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    token constant text := current_setting('memsense.token', true);
    signed constant text := substr(token, 66);
BEGIN
    PERFORM FROM memsense.seals
    WHERE encode(sha256(outer_key || sha256(inner_key || convert_to(signed, 'UTF8'))), 'hex') = left(token, 64);
    IF FOUND AND split_part(signed, '|', 2)::bigint > extract(epoch FROM now()) THEN
        RETURN signed;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION memsense.find_own_tenant() RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM memsense.seals) THEN
        RETURN nullif(split_part(memsense.find_token(), '|', 1), '')::integer;
    END IF;
    RETURN nullif(current_setting('memsense.tenant_id', true), '')::integer;
END $$;

-- name: create_model_function
-- The number of an embedding model, stored if it is new. Models belong to all tenants, and memsense_app may not
-- insert them by itself: what one tenant stores here, all others see.
CREATE OR REPLACE FUNCTION memsense.claim_model(name text, dimension integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF length(claim_model.name) NOT BETWEEN 1 AND 200
       OR claim_model.name ~ '[\u0001-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]'
    THEN
        RAISE EXCEPTION 'a model''s name has 1 to 200 visible characters' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO memsense.models (name, dimension) VALUES (claim_model.name, claim_model.dimension)
    ON CONFLICT DO NOTHING;
    RETURN (SELECT m.model_id FROM memsense.models AS m
            WHERE m.name = claim_model.name AND m.dimension = claim_model.dimension);
END $$;
-- On Citus memsense_app may insert models: see grant_rights.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        ALTER FUNCTION memsense.claim_model(text, integer) SECURITY INVOKER;
    END IF;
END $$;

-- name: secure_tables
-- A policy on every table and partition with a tenant: only rows of the tenant that the transaction names,
-- and none if it names none. If indexes serve under the policies, these hold for the owner too: then a
-- superuser has been here, and can dump. Elsewhere the owner makes dumps, which a user under policies can't
-- do; memsense's own statements run as memsense_app. A view shows what its reader may see.
DO $$
DECLARE
    -- In a subquery, so that a statement reads its token once for each table and not for each row.
    is_sealed constant boolean := EXISTS (SELECT FROM memsense.seals);
    own constant text := CASE
        WHEN is_sealed THEN 'tenant_id = (SELECT nullif(split_part(memsense.find_token(), ''|'', 1), '''')::integer)'
        ELSE 'tenant_id = nullif(current_setting(''memsense.tenant_id'', true), '''')::integer' END;
    named constant text := CASE
        WHEN is_sealed THEN 'name = (SELECT substring(memsense.find_token() FROM ''^[0-9]*[|][0-9]*[|](.*)$''))'
        ELSE 'name = current_setting(''memsense.tenant'', true)' END;
    served constant boolean := {is_served};
    name regclass;
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        RETURN;  -- whose workers do not learn of a tenant that set_config names: they would show nothing
    END IF;
    FOR name IN
        SELECT c.oid
        FROM pg_class AS c
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
        WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
        ORDER BY c.oid
    LOOP
        IF EXISTS (
            SELECT FROM pg_policy AS p
            WHERE p.polrelid = name AND p.polname = 'one_tenant'
              AND is_sealed <> (pg_get_expr(p.polqual, p.polrelid) LIKE '%find_token%'))
        THEN
            EXECUTE format('DROP POLICY one_tenant ON %s', name);
        END IF;
        IF NOT EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = name AND p.polname = 'one_tenant') THEN
            IF name = 'memsense.tenants'::regclass THEN
                EXECUTE format('CREATE POLICY one_tenant ON %s USING (%s OR %s) WITH CHECK (%s)', name, own, named, named);
            ELSE
                EXECUTE format('CREATE POLICY one_tenant ON %s USING (%s) WITH CHECK (%s)', name, own, own);
            END IF;
        END IF;
        IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = name AND c.relrowsecurity AND c.relforcerowsecurity = served) THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, %s FORCE ROW LEVEL SECURITY',
                           name, CASE WHEN NOT served THEN 'NO' END);
        END IF;
    END LOOP;
    FOR name IN
        SELECT c.oid FROM pg_class AS c WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind = 'v'
    LOOP
        EXECUTE format('ALTER VIEW %s SET (security_invoker = true)', name);
    END LOOP;
END $$;

-- name: grant_rights
-- If the roles exist (memsense init --roles): one owns everything and has no login, the other may read and
-- write rows and change no table, no policy and no view.
DO $$
DECLARE
    taking constant text := CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END;
    item record;
BEGIN
    IF to_regrole('memsense_owner') IS NULL OR to_regrole('memsense_app') IS NULL
       OR NOT pg_has_role(current_user, 'memsense_owner', taking) THEN
        RETURN;
    END IF;
    IF NOT has_schema_privilege('memsense_owner', 'memsense', 'CREATE') THEN
        GRANT USAGE, CREATE ON SCHEMA memsense TO memsense_owner;  -- else only a superuser gives it tables
    END IF;
    FOR item IN
        SELECT CASE WHEN c.relkind = 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind, c.oid::regclass::text AS name
        FROM pg_class AS c
        WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p', 'v')
          AND c.relowner <> 'memsense_owner'::regrole
        UNION ALL
        SELECT 'FUNCTION', p.oid::regprocedure::text
        FROM pg_proc AS p
        WHERE p.pronamespace = 'memsense'::regnamespace AND p.proowner <> 'memsense_owner'::regrole
        UNION ALL
        SELECT 'SCHEMA', 'memsense'
        FROM pg_namespace AS n
        WHERE n.nspname = 'memsense' AND n.nspowner <> 'memsense_owner'::regrole
    LOOP
        EXECUTE format('ALTER %s %s OWNER TO memsense_owner', item.kind, item.name);
    END LOOP;
    FOR item IN
        SELECT n.nspname AS name
        FROM pg_extension AS e
        JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector' AND NOT has_schema_privilege('memsense_app', n.oid, 'USAGE')
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO memsense_owner, memsense_app', item.name);
    END LOOP;
    GRANT USAGE ON SCHEMA memsense TO memsense_app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA memsense TO memsense_app;
    REVOKE INSERT, UPDATE, DELETE ON memsense.alembic_version FROM memsense_app;
    -- Shared by all tenants: claim_model adds a model, and nobody's is changed. A tenant that renamed itself would
    -- get the rows of a later tenant of that name. On Citus, which locks a table that every node has for an
    -- INSERT with ON CONFLICT, that takes the right to update.
    REVOKE DELETE ON memsense.models, memsense.tenants FROM memsense_app;
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        REVOKE INSERT, UPDATE ON memsense.models FROM memsense_app;
        REVOKE UPDATE ON memsense.tenants FROM memsense_app;
    END IF;
    REVOKE ALL ON memsense.seals FROM memsense_app;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA memsense TO memsense_app;
END $$;

-- name: secure_lookups
-- If no index serves under the policies, lookups.sql reads as memsense_index, a role without login that may
-- read the indexed columns of all tenants, by a policy of its own, and nothing else. Only memsense_app may
-- call the functions. If indexes serve, the role loses all of that.
DO $$
DECLARE
    served constant boolean := {is_served};
    taking constant text := CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END;
    name regclass;
    item regprocedure;
BEGIN
    IF to_regrole('memsense_index') IS NULL OR to_regrole('memsense_owner') IS NULL
       OR NOT pg_has_role(current_user, 'memsense_owner', taking)
       OR NOT pg_has_role(current_user, 'memsense_index', taking)
       OR EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        RETURN;
    END IF;
    FOREACH name IN ARRAY ARRAY['memsense.chunks', 'memsense.entities']::regclass[] LOOP
        EXECUTE format('DROP POLICY IF EXISTS by_index ON %s', name);
        EXECUTE format('REVOKE ALL ON %s FROM memsense_index', name);
    END LOOP;
    REVOKE ALL ON SCHEMA memsense FROM memsense_index;
    IF served THEN
        RETURN;
    END IF;
    CREATE POLICY by_index ON memsense.chunks FOR SELECT TO memsense_index USING (true);
    CREATE POLICY by_index ON memsense.entities FOR SELECT TO memsense_index USING (true);
    GRANT SELECT (tenant_id, scope_id, chunk_id, granularity, tsv, tags,
                  user_length, assistant_length, tag_length, context_length)
        ON memsense.chunks TO memsense_index;
    GRANT SELECT (tenant_id, scope_id, entity_id, key) ON memsense.entities TO memsense_index;
    GRANT USAGE, CREATE ON SCHEMA memsense TO memsense_index;  -- CREATE to be given what is there
    FOR item IN
        SELECT p.oid
        FROM pg_proc AS p
        WHERE p.pronamespace = 'memsense'::regnamespace
          AND p.proname IN ('find_postings', 'find_ranked', 'find_chunks', 'find_tagged', 'find_entities')
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', item);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO memsense_app', item);
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER', item);
        EXECUTE format('ALTER FUNCTION %s OWNER TO memsense_index', item);
    END LOOP;
    REVOKE CREATE ON SCHEMA memsense FROM memsense_index;
END $$;

-- name: add_seal
-- A key that signs which tenant a transaction works for; the policies ask for such a signature from then on.
INSERT INTO memsense.seals (inner_key, outer_key) VALUES (%(inner_key)s, %(outer_key)s);

-- name: drop_other_seals
-- Leaves the given key alone: the end of a change of keys.
DELETE FROM memsense.seals WHERE inner_key <> %(inner_key)s;

-- name: drop_this_seal
DELETE FROM memsense.seals WHERE inner_key = %(inner_key)s;

-- name: drop_seals
DELETE FROM memsense.seals;

-- name: list_lasting
-- What memsense_app can leave behind that outlives its session, and so reaches the sessions of other tenants, each
-- with the statement that ends it. A role may always change its own settings: those that are meant stand
-- on the database. `is_advice`: temporary objects end with their session.
WITH app AS (
    SELECT r.*, d.datdba, d.oid AS database_id, format('%%I', d.datname) AS database
    FROM pg_roles AS r, pg_database AS d
    WHERE r.rolname = 'memsense_app' AND d.datname = current_database()
)
SELECT what, remedy, is_advice
FROM (
    SELECT 1 AS place, 'it may create objects in schema ' || n.nspname AS what,
        CASE WHEN n.nspowner = app.oid THEN format('ALTER SCHEMA %%I OWNER TO memsense_owner', n.nspname)
             ELSE format('REVOKE CREATE ON SCHEMA %%I FROM PUBLIC, memsense_app', n.nspname) END AS remedy,
        false AS is_advice
    FROM app, pg_namespace AS n
    WHERE has_schema_privilege(app.oid, n.oid, 'CREATE') AND n.nspname !~ '^pg_(toast_)?temp_'
    UNION ALL
    SELECT 2, 'it may create schemas in this database',
        CASE WHEN app.datdba = app.oid THEN format('ALTER DATABASE %%s OWNER TO CURRENT_USER', app.database)
             ELSE format('REVOKE CREATE ON DATABASE %%s FROM PUBLIC, memsense_app', app.database) END, false
    FROM app
    WHERE has_database_privilege(app.oid, app.database_id, 'CREATE')
    UNION ALL
    SELECT 3, 'it is a member of ' || r.rolname, format('REVOKE %%I FROM memsense_app', r.rolname), false
    FROM app
    JOIN pg_auth_members AS m ON m.member = app.oid
    JOIN pg_roles AS r ON r.oid = m.roleid
    UNION ALL
    SELECT 4, 'it has attributes of an administrator',
        'ALTER ROLE memsense_app NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', false
    FROM app
    WHERE rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls
    UNION ALL
    SELECT 5, 'it has the setting ' || split_part(setting, '=', 1),
        format('ALTER ROLE memsense_app %%sRESET %%I',
               CASE WHEN s.setdatabase <> 0 THEN 'IN DATABASE ' || app.database || ' ' END,
               split_part(setting, '=', 1)), false
    FROM app
    JOIN pg_db_role_setting AS s ON s.setrole = app.oid AND s.setdatabase IN (0, app.database_id)
    CROSS JOIN unnest(s.setconfig) AS setting
    UNION ALL
    SELECT 6, 'it owns ' || coalesce(pg_describe_object(d.classid, d.objid, d.objsubid), 'an object'),
        'DROP OWNED BY memsense_app', false
    FROM app
    JOIN pg_shdepend AS d ON d.refobjid = app.oid AND d.refclassid = 'pg_authid'::regclass
    WHERE d.dbid = app.database_id AND d.deptype = 'o'
    UNION ALL
    SELECT 7, 'it may create triggers on ' || c.oid::regclass,
        format('REVOKE TRIGGER ON %%s FROM PUBLIC, memsense_app', c.oid::regclass), false
    FROM app, pg_class AS c
    WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p', 'v')
      AND has_table_privilege(app.oid, c.oid, 'TRIGGER')
    UNION ALL
    SELECT 8, 'it may create temporary objects',
        format('REVOKE TEMPORARY ON DATABASE %%s FROM PUBLIC, memsense_app', app.database), true
    FROM app
    WHERE has_database_privilege(app.oid, app.database_id, 'TEMPORARY')
) AS found
ORDER BY place, what;

-- name: reset_app
-- Where tenants are sealed, settings that memsense_app has are its own work: seal refuses those of others.
DO $$
BEGIN
    IF EXISTS (SELECT FROM memsense.seals)
       AND EXISTS (SELECT FROM pg_db_role_setting WHERE setrole = 'memsense_app'::regrole) THEN
        ALTER ROLE memsense_app RESET ALL;
        EXECUTE format('ALTER ROLE memsense_app IN DATABASE %I RESET ALL', current_database());
    END IF;
END $$;

-- name: create_roles
-- memsense_app has no password yet: set one with ALTER ROLE, or grant the role to a user who can log in. A
-- superuser, who marks functions as leakproof, needs no memsense_index. Other users become members of the
-- roles, so that they may give them what they create.
DO $$
DECLARE
    is_super constant boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    without_rights constant text :=
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'WITH INHERIT FALSE' END;
BEGIN
    BEGIN
        CREATE ROLE memsense_owner NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN  -- of another database, perhaps this moment
    END;
    BEGIN
        CREATE ROLE memsense_app LOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memsense_app' AND (rolsuper OR rolbypassrls)) THEN
        ALTER ROLE memsense_app NOSUPERUSER NOBYPASSRLS;
    END IF;
    IF NOT is_super THEN
        BEGIN
            CREATE ROLE memsense_index NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
        END;
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memsense_index' AND (rolsuper OR rolbypassrls OR rolcanlogin)) THEN
            ALTER ROLE memsense_index NOLOGIN NOSUPERUSER NOBYPASSRLS;
        END IF;
        EXECUTE format('GRANT memsense_owner, memsense_app TO %I', current_user);
        EXECUTE format('GRANT memsense_index TO %I %s', current_user, without_rights);
    END IF;
END $$;
