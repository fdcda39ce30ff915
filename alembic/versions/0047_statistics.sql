-- Statistics of searches. No text and no user stands here, so an erasure has nothing to look for.
CREATE TABLE memsense.search_minutes (
    tenant_id integer NOT NULL,
    minute timestamptz NOT NULL,
    searches integer NOT NULL,
    empty integer NOT NULL,
    failed integer NOT NULL,
    sum_ms double precision NOT NULL,
    buckets integer[] NOT NULL,
    PRIMARY KEY (tenant_id, minute)
) WITH (fillfactor = 70);

COMMENT ON TABLE memsense.search_minutes IS 'Searches of a tenant by minute. Each process adds its own to the sums.';
COMMENT ON COLUMN memsense.search_minutes.empty IS 'Searches that were answered without a hit.';
COMMENT ON COLUMN memsense.search_minutes.failed IS 'Searches that raised an error; they are counted in searches as well.';
COMMENT ON COLUMN memsense.search_minutes.sum_ms IS 'Total duration of the answered searches.';
COMMENT ON COLUMN memsense.search_minutes.buckets IS 'Answered searches by duration, in 12 buckets: up to 5, 10, 20, 30, 50, 80, 125, 200, 400, 1000 and 3000 ms, and above.';

CREATE TABLE memsense.slow_searches (
    tenant_id integer NOT NULL,
    day date NOT NULL,
    ms double precision NOT NULL,
    asked_at timestamptz NOT NULL,
    length integer NOT NULL,
    profile text NOT NULL,
    filters text[] NOT NULL,
    PRIMARY KEY (tenant_id, day, ms, asked_at)
);

COMMENT ON TABLE memsense.slow_searches IS 'The ten slowest searches of a tenant on each day (UTC), without their texts.';
COMMENT ON COLUMN memsense.slow_searches.length IS 'Characters of the question.';
COMMENT ON COLUMN memsense.slow_searches.filters IS 'Names of the filters that were set, without their values.';
