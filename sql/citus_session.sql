-- Settings that a connection to a Citus coordinator needs after session.sql: Citus makes no generic plans
-- for writes, and takes settings of a transaction to the workers only if it is told to.
SET plan_cache_mode = auto;
SET citus.propagate_set_commands = 'local';
