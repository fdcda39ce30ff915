-- What a connection asks by itself: what became of a transaction, by who lost its connection while it
-- committed; which extensions there are.
-- Parameters:
--   number           the transaction's own number
--   life             since when the server's memory lives

-- A crash empties the statistics, a restart in order keeps them: so this tells one life of the
-- server's memory from the next.
-- name: fetch_transaction
SELECT pg_current_xact_id()::text::bigint, (SELECT stats_reset FROM pg_stat_archiver);

-- After a crash, or on another server, a number may have been given to another transaction, as it is
-- where nothing of the first was on disk yet.
-- name: fetch_outcome
SELECT CASE
    WHEN (SELECT stats_reset FROM pg_stat_archiver) IS NOT DISTINCT FROM %(life)s::timestamptz
    THEN pg_xact_status(%(number)s::bigint::text::xid8)
    ELSE 'crashed'
END;

-- What a new connection is to know: whether there are vectors yet, whether this is Citus, and which
-- process serves it: another than the client was told of where a pooler stands between.
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
