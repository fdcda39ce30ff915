-- What a connection to a Citus coordinator needs after session.sql: Citus plans no generic plans for
-- writes, and takes settings of a transaction along to the workers only if told so.
SET plan_cache_mode = auto;
SET citus.propagate_set_commands = 'local';
