-- What became of a transaction, asked by who lost its connection while it committed.
-- Parameters:
--   number           the transaction's own number

-- name: fetch_transaction
SELECT pg_current_xact_id()::text::bigint;

-- name: fetch_outcome
SELECT pg_xact_status(%(number)s::bigint::text::xid8);
