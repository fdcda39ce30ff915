-- Models that know less than half of a chunk's text and therefore make no vectors of it.
ALTER TABLE memsense.chunks ADD COLUMN unknown_to integer[] NOT NULL DEFAULT '{}';

COMMENT ON COLUMN memsense.chunks.unknown_to IS 'Models that know less than half of the text: they make no vectors and tokens of it, and no job waits for them.';
