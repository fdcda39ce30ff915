-- Queries that a connection makes for itself: what became of a transaction whose connection was lost during
-- the commit; which extensions there are.
-- Parameters:
--   number           the transaction's own number
--   life             since when the server has run without a crash

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

-- Facts about a new connection: whether the vector type exists yet, whether this is Citus, and which process
-- serves it, which is not the reported one if a pooler is in between.
-- name: fetch_extensions
SELECT
    to_regtype('halfvec') IS NOT NULL,
    EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'),
    pg_backend_pid();

-- name: fetch_process
SELECT pg_backend_pid();

-- name: deallocate
DEALLOCATE {name};

-- Whether the server knows a prepared statement by the name that the client gave it.
-- name: has_statement
SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = %(name)s);
