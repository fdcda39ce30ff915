-- The route `time` in parts: the memories of the times that a question names. They are CTEs of the recall statement, if
-- its profile has a weight for the route. memsense/search/recall/time.py fills them.
--
-- Parameters, besides those of recall.sql:
--   time_since, time_until               stretches of time that the question names, in the asker's zone; half open, and
--                                        none behind the time of asking
--   time_wall_since, time_wall_until     the same as a wall clock, for memories whose zone is not known
--   time_confidence                      the confidence of each stretch
--   time_depth, time_least, time_part    how many chunks are found: a part of the memory, within two bounds
--   time_stretches                       among how many stretches these are shared
--   time_alone                           whether the question asks for nothing but a time
--   time_chunk_ids                       further chunks that take part, such as the neighbours of one
--   time_first, time_last, time_now      the first stretch without its slices, and the time of asking, null for none

-- name: time_asked
unnest(
    %(time_since)s::timestamptz[], %(time_until)s::timestamptz[],
    %(time_wall_since)s::timestamptz[], %(time_wall_until)s::timestamptz[], %(time_confidence)s::float8[]
) AS asked (since, until, wall_since, wall_until, confidence)

-- name: in_stretch
-- The first two lines are those that an index serves.
c.occurred_at >= least(asked.since, asked.wall_since)
AND c.occurred_at < greatest(asked.until, asked.wall_until)
AND CASE WHEN c.occurred_zone_known THEN c.occurred_at >= asked.since AND c.occurred_at < asked.until
         ELSE c.occurred_at >= asked.wall_since AND c.occurred_at < asked.wall_until END

-- name: time_within
-- The newest chunks of each stretch, in the order of the index chunks_occurred_at. In a small memory few are read: there the
-- other routes read a large part of all, and find what is missed here.
time_within AS MATERIALIZED (
    SELECT c.chunk_id, c.scope_id, c.occurred_at, asked.confidence
    FROM scope
    CROSS JOIN {asked}
    CROSS JOIN LATERAL (
        SELECT c.chunk_id, c.scope_id, c.occurred_at
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = scope.scope_id
          AND {in_stretch}
          AND c.granularity = 'turn'
          AND c.tsv IS NOT NULL
          AND {takes_part}
        ORDER BY c.occurred_at DESC NULLS LAST, c.chunk_id DESC
        LIMIT (SELECT share FROM time_share)
    ) AS c
)

-- name: time_share
-- How many chunks a stretch finds.
time_share AS MATERIALIZED (
    SELECT ceil(
        least(%(time_depth)s, greatest(%(time_least)s, sum(chunk_count) * %(time_part)s::float8)) / %(time_stretches)s
    )::integer AS share
    FROM statistics
    WHERE granularity = 'turn'
)

-- name: time_found
-- Where a stretch may hold more, those that the question's words find in it are added, and always the chunks that are
-- asked for by their ids.
time_found AS MATERIALIZED (
    SELECT chunk_id, scope_id, occurred_at, max(confidence) AS confidence
    FROM (
        SELECT chunk_id, scope_id, occurred_at, confidence FROM time_within
        UNION ALL
        SELECT c.chunk_id, c.scope_id, c.occurred_at, asked.confidence
        FROM memsense.chunks AS c
        CROSS JOIN {asked}
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND c.chunk_id = ANY (ARRAY(
              SELECT chunk_id FROM matched
              WHERE (SELECT count(*) FROM time_within) >= (SELECT share FROM time_share)))
          AND c.granularity = 'turn'
          AND {in_stretch}
        UNION ALL
        SELECT c.chunk_id, c.scope_id, c.occurred_at, 1
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND c.chunk_id = ANY (%(time_chunk_ids)s::bigint[])
          AND c.tsv IS NOT NULL
          AND {takes_part}
    ) AS found
    GROUP BY chunk_id, scope_id, occurred_at
)

-- name: time
-- Ranked by meaning and words. Where nothing else is asked, by confidence and time, spread evenly over all that is found.
time AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(score) AS turn_scores,
        NULL::bigint[] AS sessions,
        NULL::float8[] AS session_scores
    FROM (
        (SELECT
             chunk_id,
             max(confidence) * (1 + greatest(max(cosine), 0)
                 + coalesce(max(words) / nullif((SELECT max(score) FROM matched), 0), 0)) / 3 AS score
         FROM (
             -- Grouped, not joined: the planner does not know how many these are, and would compare each with each.
             SELECT chunk_id, confidence, NULL::float8 AS cosine, NULL::float8 AS words FROM time_found
             UNION ALL
             SELECT chunk_id, NULL, cosine, NULL FROM (
                 {cosines}
             ) AS embedded
             UNION ALL
             SELECT chunk_id, NULL, NULL, score FROM matched
         ) AS found
         WHERE NOT %(time_alone)s
         GROUP BY chunk_id
         HAVING max(confidence) > 0
         ORDER BY score DESC, chunk_id
         LIMIT %(route_limit)s)
        UNION ALL
        (SELECT chunk_id, confidence AS score
         FROM (
             SELECT
                 chunk_id, occurred_at, confidence,
                 row_number() OVER (PARTITION BY confidence ORDER BY occurred_at, chunk_id) AS place,
                 count(*) OVER (PARTITION BY confidence) AS places
             FROM time_found
             WHERE %(time_alone)s
         ) AS spread
         WHERE place * %(route_limit)s / places > (place - 1) * %(route_limit)s / places
         ORDER BY confidence DESC, occurred_at, chunk_id
         LIMIT %(route_limit)s)
    ) AS best
)

-- name: fact_nearest
-- The times of the memories nearest to the first stretch, if the question asks for nothing else and nothing is found.
'nearest', CASE WHEN %(time_alone)s AND NOT EXISTS (SELECT FROM time_found) THEN (
    SELECT coalesce(jsonb_agg(jsonb_build_array(near.occurred_at, near.occurred_zone_known) ORDER BY near.occurred_at), '[]')
    FROM scope
    CROSS JOIN LATERAL (
        (SELECT c.occurred_at, c.occurred_zone_known
         FROM memsense.chunks AS c
         WHERE c.tenant_id = %(tenant_id)s
           AND c.scope_id = scope.scope_id
           AND c.occurred_at < %(time_first)s::timestamptz
           AND c.granularity = 'turn'
           AND c.tsv IS NOT NULL
           AND {takes_part}
         ORDER BY c.occurred_at DESC NULLS LAST, c.chunk_id DESC
         LIMIT 1)
        UNION ALL
        (SELECT c.occurred_at, c.occurred_zone_known
         FROM memsense.chunks AS c
         WHERE c.tenant_id = %(tenant_id)s
           AND c.scope_id = scope.scope_id
           AND c.occurred_at >= %(time_last)s::timestamptz
           AND c.occurred_at < coalesce(%(time_now)s::timestamptz, 'infinity')
           AND c.granularity = 'turn'
           AND c.tsv IS NOT NULL
           AND {takes_part}
         ORDER BY c.occurred_at NULLS FIRST, c.chunk_id
         LIMIT 1)
    ) AS near) END
