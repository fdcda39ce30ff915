-- How long recall may take: sent ahead of it in the same round trip, and gone with its transaction.
-- A stricter limit, of the role or of the database, stays.
-- Parameters:
--   recall_timeout   such as '30000ms'

-- name: limit_statement
SELECT set_config('statement_timeout', %(recall_timeout)s::text, true)
WHERE current_setting('statement_timeout')::interval NOT BETWEEN '1 ms' AND %(recall_timeout)s::interval;
