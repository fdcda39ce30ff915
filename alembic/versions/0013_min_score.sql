ALTER TABLE memsense.traces ADD COLUMN min_score double precision;

COMMENT ON COLUMN memsense.traces.min_score IS 'What scored less was no hit; null: the search asked for no score.';
