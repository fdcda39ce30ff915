-- The kind that the prompt of a recorded search was read as.
ALTER TABLE memsense.traces ADD COLUMN request_share double precision;
ALTER TABLE memsense.traces ADD COLUMN kind_by text;

COMMENT ON COLUMN memsense.traces.request_share IS 'Share of the constants for requests that the prompt took, 0 to 1; null if its profile ranks all prompts alike, and before it was recorded.';
COMMENT ON COLUMN memsense.traces.kind_by IS 'What the kind was read from: vector, words, names or caller.';
