-- Settings that a connection to a Citus coordinator needs after session.sql: Citus makes no generic plans
-- for writes, and takes settings of a transaction to the workers only if it is told to. Databases have the
-- second from `init --citus`: what is set here, a pooler may lend to others.
SELECT set_config(name, value, false)
FROM (VALUES ('plan_cache_mode', 'auto'), ('citus.propagate_set_commands', 'local')) AS wanted (name, value)
WHERE current_setting(name, true) IS DISTINCT FROM value;
