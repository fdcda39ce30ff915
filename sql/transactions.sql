-- What became of a transaction, asked by who lost its connection while it committed.
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
