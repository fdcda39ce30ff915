-- Parts that are stored already get no opening: their texts, words and vectors stay as they are.
ALTER TABLE memsense.chunks
    ADD COLUMN part_count integer NOT NULL DEFAULT 1,
    ADD COLUMN opening_length integer NOT NULL DEFAULT 0;

COMMENT ON COLUMN memsense.chunks.part_count IS 'How many pieces the exchange has.';
COMMENT ON COLUMN memsense.chunks.opening_length IS
    'How many characters at the beginning of user_text repeat how the user began the exchange.';

UPDATE memsense.chunks AS c
SET part_count = found.part_count
FROM (
    SELECT tenant_id, scope_id, session_id, ordinal, max(part) + 1 AS part_count
    FROM memsense.chunks
    WHERE granularity = 'turn'
    GROUP BY tenant_id, scope_id, session_id, ordinal
    HAVING max(part) > 0
) AS found
WHERE c.tenant_id = found.tenant_id AND c.scope_id = found.scope_id AND c.session_id = found.session_id
  AND c.ordinal = found.ordinal AND c.granularity = 'turn';
