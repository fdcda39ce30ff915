-- Statistics of searches: written by the processes that answer them, read and dropped. Each statement names one
-- tenant.
-- Parameters:
--   tenant_id   the tenant's number
--   since       start of the time to report, or of what is kept
--   until       end of the time to report
--   step        minutes of a period

-- name: add_minutes
-- In the order of the key, so that two processes which write at once can't wait for each other. `buckets` are
-- those of all minutes, one after the other.
INSERT INTO memsense.search_minutes (tenant_id, minute, searches, empty, failed, sum_ms, buckets)
SELECT
    %(tenant_id)s, o.minute, o.searches, o.empty, o.failed, o.sum_ms,
    (%(buckets)s::integer[])[12 * o.place::integer - 11:12 * o.place::integer]
FROM unnest(
    %(minutes)s::timestamptz[], %(searches)s::integer[], %(empty)s::integer[], %(failed)s::integer[],
    %(sums_ms)s::double precision[]
) WITH ORDINALITY AS o (minute, searches, empty, failed, sum_ms, place)
ORDER BY o.minute
ON CONFLICT (tenant_id, minute) DO UPDATE SET
    searches = search_minutes.searches + EXCLUDED.searches,
    empty = search_minutes.empty + EXCLUDED.empty,
    failed = search_minutes.failed + EXCLUDED.failed,
    sum_ms = search_minutes.sum_ms + EXCLUDED.sum_ms,
    buckets = ARRAY[
        search_minutes.buckets[1] + EXCLUDED.buckets[1], search_minutes.buckets[2] + EXCLUDED.buckets[2],
        search_minutes.buckets[3] + EXCLUDED.buckets[3], search_minutes.buckets[4] + EXCLUDED.buckets[4],
        search_minutes.buckets[5] + EXCLUDED.buckets[5], search_minutes.buckets[6] + EXCLUDED.buckets[6],
        search_minutes.buckets[7] + EXCLUDED.buckets[7], search_minutes.buckets[8] + EXCLUDED.buckets[8],
        search_minutes.buckets[9] + EXCLUDED.buckets[9], search_minutes.buckets[10] + EXCLUDED.buckets[10],
        search_minutes.buckets[11] + EXCLUDED.buckets[11], search_minutes.buckets[12] + EXCLUDED.buckets[12]
    ];

-- name: add_slow_searches
INSERT INTO memsense.slow_searches (tenant_id, day, ms, asked_at, length, profile, filters)
SELECT %(tenant_id)s, o.day, o.ms, o.asked_at, o.length, o.profile, string_to_array(o.filters, ',')
FROM unnest(
    %(days)s::date[], %(ms)s::double precision[], %(asked_at)s::timestamptz[], %(lengths)s::integer[],
    %(profiles)s::text[], %(filters)s::text[]
) AS o (day, ms, asked_at, length, profile, filters)
ORDER BY o.day, o.ms, o.asked_at
ON CONFLICT DO NOTHING;

-- name: keep_slowest
-- Other processes may have added slower ones of these days.
DELETE FROM memsense.slow_searches AS s
USING (
    SELECT
        x.day, x.ms, x.asked_at,
        row_number() OVER (PARTITION BY x.day ORDER BY x.ms DESC, x.asked_at) AS place
    FROM memsense.slow_searches AS x
    WHERE x.tenant_id = %(tenant_id)s AND x.day = ANY (%(days)s::date[])
) AS r
WHERE s.tenant_id = %(tenant_id)s AND r.place > 10 AND s.day = r.day AND s.ms = r.ms AND s.asked_at = r.asked_at;

-- name: drop_old_minutes
DELETE FROM memsense.search_minutes WHERE tenant_id = %(tenant_id)s AND minute < %(since)s;

-- name: drop_old_slow_searches
DELETE FROM memsense.slow_searches WHERE tenant_id = %(tenant_id)s AND asked_at < %(since)s;

-- name: sum_minutes
SELECT
    date_bin(make_interval(mins => %(step)s), minute, %(since)s) AS at,
    sum(searches)::bigint AS searches,
    sum(empty)::bigint AS empty,
    sum(failed)::bigint AS failed,
    sum(sum_ms) AS sum_ms,
    ARRAY[
        sum(buckets[1]), sum(buckets[2]), sum(buckets[3]), sum(buckets[4]), sum(buckets[5]), sum(buckets[6]),
        sum(buckets[7]), sum(buckets[8]), sum(buckets[9]), sum(buckets[10]), sum(buckets[11]), sum(buckets[12])
    ]::bigint[] AS buckets
FROM memsense.search_minutes
WHERE tenant_id = %(tenant_id)s AND minute >= %(since)s AND minute < %(until)s
GROUP BY 1
ORDER BY 1;

-- name: list_slow_searches
SELECT asked_at, ms, length, profile, filters
FROM memsense.slow_searches
WHERE tenant_id = %(tenant_id)s AND asked_at >= %(since)s AND asked_at < %(until)s
ORDER BY ms DESC, asked_at
LIMIT 10;

-- name: count_stored
-- Of scope_statistics, which count the active chunks of each memory: no chunk is read.
SELECT
    (SELECT count(*) FROM memsense.scopes AS s WHERE s.tenant_id = %(tenant_id)s) AS users,
    (SELECT coalesce(sum(t.chunk_count), 0)::bigint FROM memsense.scope_statistics AS t
     WHERE t.tenant_id = %(tenant_id)s AND t.granularity = 'turn') AS memories;
