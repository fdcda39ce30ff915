-- Queries that a connection makes for itself: what became of a transaction whose connection was lost during
-- the commit; which extensions there are.
-- Parameters:
--   number           the transaction's own number
--   life             since when the server has run without a crash
--   place            a place in the log of a primary

-- A crash empties the statistics, an orderly restart keeps them: so this tells whether the server has
-- crashed since.
-- name: fetch_transaction
SELECT pg_current_xact_id()::text::bigint, (SELECT stats_reset FROM pg_stat_archiver);

-- After a crash, or on another server, the number may belong to another transaction, because nothing of the
-- first one was on disk yet.
-- name: fetch_outcome
SELECT CASE
    WHEN (SELECT stats_reset FROM pg_stat_archiver) IS NOT DISTINCT FROM %(life)s::timestamptz
    THEN pg_xact_status(%(number)s::bigint::text::xid8)
    ELSE 'crashed'
END;

-- Facts about a new connection: whether pgvector is installed yet, whether this is Citus, which process serves
-- it (not the reported one if a pooler is in between), the search path that finds pgvector if the database's own
-- does not, and the limit of a transaction's time (null before PostgreSQL 17).
-- name: fetch_extensions
SELECT
    EXISTS (SELECT FROM pg_extension WHERE extname = 'vector'),
    EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'),
    pg_backend_pid(),
    (SELECT concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(n.nspname))
     FROM pg_extension AS e
     JOIN pg_namespace AS n ON n.oid = e.extnamespace
     WHERE e.extname = 'vector' AND n.nspname <> ALL (current_schemas(true))),
    current_setting('transaction_timeout', true);

-- name: set_search_path
SELECT set_config('search_path', %(search_path)s, true);

-- name: fetch_process
SELECT pg_backend_pid();

-- name: deallocate
DEALLOCATE {name};

-- Whether the server knows a prepared statement by the name that the client gave it.
-- name: has_statement
SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = %(name)s);

-- The end of what a primary has written to its log.
-- name: fetch_written
SELECT pg_current_wal_insert_lsn()::text;

-- Whether a standby has replayed its primary's log up to a place; not so on a server that is no standby.
-- name: has_replayed
SELECT coalesce(pg_last_wal_replay_lsn() >= %(place)s::pg_lsn, false);
