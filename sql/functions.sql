-- Functions for people at psql; memsense itself calls none of them. Every migration creates them
-- anew, after the views.

CREATE FUNCTION memsense.explain(trace_id uuid)
RETURNS TABLE (
    hit_rank integer, chunk_id bigint, part text, value double precision, running_total double precision, detail text
)
LANGUAGE sql STABLE AS $$
    WITH hit AS (
        SELECT c.*
        FROM memsense.trace_candidates AS c
        WHERE c.tenant_id = ANY (ARRAY(SELECT tenant_id FROM memsense.tenants))
          AND c.trace_id = explain.trace_id
          AND c.hit_rank IS NOT NULL
    ),
    parts AS (
        SELECT
            hit.hit_rank, hit.chunk_id, found.step::integer AS step, found.route AS part,
            CASE WHEN hit.base_score = 0 THEN 0 ELSE found.contribution END AS value,
            format('rank %s, score %s, weight %s', found.rank, round(found.score::numeric, 4), found.weight) AS detail
        FROM hit
        CROSS JOIN LATERAL unnest(hit.routes, hit.ranks, hit.scores, hit.weights, hit.contributions)
            WITH ORDINALITY AS found (route, rank, score, weight, contribution, step)
        UNION ALL
        SELECT
            hit.hit_rank, hit.chunk_id, 100, 'turn_support', hit.turn_support,
            format('%s supporting turns', hit.session ->> 'supporting_turn_count')
        FROM hit
        WHERE hit.session IS NOT NULL
        UNION ALL
        SELECT hit.hit_rank, hit.chunk_id, 200, term.key, term.value::float8, ''
        FROM hit
        CROSS JOIN LATERAL jsonb_each_text(hit.terms) AS term
    )
    SELECT hit_rank, chunk_id, part, value, running_total, detail
    FROM (
        SELECT
            hit_rank, chunk_id, step, part, value, detail,
            sum(value) OVER (PARTITION BY hit_rank ORDER BY step, part) AS running_total
        FROM parts
        UNION ALL
        SELECT
            hit.hit_rank, hit.chunk_id, 300, '= final_score', hit.final_score,
            format('place %s by score', hit.score_rank), hit.final_score
        FROM hit
        UNION ALL
        SELECT
            hit.hit_rank, hit.chunk_id, 400, 'mmr', hit.mmr_score,
            format('relevance %s, redundancy %s to %s', round(hit.relevance::numeric, 4),
                   round(hit.redundancy::numeric, 4), coalesce(hit.redundant_to::text, 'none')),
            NULL
        FROM hit
    ) AS line (hit_rank, chunk_id, step, part, value, detail, running_total)
    ORDER BY hit_rank, step, part
$$;

COMMENT ON FUNCTION memsense.explain(uuid) IS 'The arithmetic of every hit of a recorded search, one line a part, with a running total that ends at its score.';

-- As recall.sql ranks the lexical route, without filters; the defaults are the balanced profile's.
-- A question in a script without blanks must be cut into pairs of characters beforehand.
CREATE FUNCTION memsense.recall_lexical(
    tenant text, namespace text, user_id text, question text, top_k integer DEFAULT 10,
    granularity text DEFAULT NULL, k1 double precision DEFAULT 1.2, b double precision DEFAULT 0.75,
    weight_context double precision DEFAULT 0.4, weight_tag double precision DEFAULT 1,
    postings_budget integer DEFAULT 2000, weight_user double precision DEFAULT 1,
    weight_assistant double precision DEFAULT 1
)
RETURNS TABLE (rank bigint, chunk_id bigint, kind text, score double precision)
LANGUAGE sql STABLE AS $$
    WITH scope AS MATERIALIZED (
        SELECT s.tenant_id, s.scope_id, n.language
        FROM memsense.tenants AS t
        JOIN memsense.namespaces AS n ON n.tenant_id = t.tenant_id
        JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
        WHERE t.name = recall_lexical.tenant
          AND n.name = recall_lexical.namespace
          AND (recall_lexical.user_id IS NULL OR s.user_id = recall_lexical.user_id)
    ),
    statistics AS MATERIALIZED (
        SELECT
            c.granularity,
            sum(chunk_count)::float8 AS chunk_count,
            greatest(sum(user_length) / nullif(sum(chunk_count), 0), 1)::float8 AS user_average,
            greatest(sum(assistant_length) / nullif(sum(chunk_count), 0), 1)::float8 AS assistant_average,
            greatest(sum(tag_length) / nullif(sum(chunk_count), 0), 1)::float8 AS tag_average,
            greatest(sum(context_length) / nullif(sum(chunk_count), 0), 1)::float8 AS context_average,
            least(greatest(sqrt(sum(user_length) / nullif(sum(assistant_length), 0)::float8), 0.2), 1)
                AS assistant_weight
        FROM memsense.scope_statistics AS c
        JOIN scope USING (tenant_id, scope_id)
        WHERE recall_lexical.granularity IS NULL OR c.granularity = recall_lexical.granularity
        GROUP BY c.granularity
        HAVING sum(chunk_count) > 0
    ),
    asked AS MATERIALIZED (
        SELECT DISTINCT lexeme
        FROM unnest(tsvector_to_array(
            to_tsvector((SELECT language FROM scope LIMIT 1)::regconfig, recall_lexical.question))) AS lexeme
    ),
    frequency AS MATERIALIZED (
        SELECT x.granularity, x.lexeme, sum(x.document_frequency)::float8 AS document_frequency
        FROM memsense.lexemes AS x
        JOIN scope USING (tenant_id, scope_id)
        WHERE x.lexeme = ANY (ARRAY(SELECT lexeme FROM asked))
        GROUP BY x.granularity, x.lexeme
    ),
    terms AS MATERIALIZED (
        SELECT
            s.granularity, f.lexeme, f.document_frequency,
            ln(1 + (s.chunk_count - f.document_frequency + 0.5) / (f.document_frequency + 0.5)) AS idf,
            ('''' || replace(replace(f.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
        FROM statistics AS s
        JOIN frequency AS f USING (granularity)
        WHERE f.document_frequency > 0
    ),
    drivers AS MATERIALIZED (
        SELECT lexeme
        FROM (
            SELECT
                lexeme,
                sum(sum(document_frequency)) OVER by_rarity AS postings,
                row_number() OVER by_rarity AS place
            FROM terms
            GROUP BY lexeme
            WINDOW by_rarity AS (ORDER BY sum(document_frequency), lexeme)
        ) AS by_rarity
        WHERE postings <= recall_lexical.postings_budget OR place = 1
    ),
    -- ts_rank of one lexeme is the second-order harmonic number of its count, over that series' limit.
    harmonic AS (
        SELECT count, sum(1.0::float8 / (count::float8 * count)) OVER (ORDER BY count) AS value
        FROM generate_series(1, 255) AS count
    ),
    cuts AS MATERIALIZED (
        SELECT array_agg((coalesce(below.value, 0) + above.value) / 2 / 1.64493406685 ORDER BY above.count) AS points
        FROM harmonic AS above
        LEFT JOIN harmonic AS below ON below.count = above.count - 1
    ),
    scored AS (
        SELECT c.chunk_id, c.granularity, sum(t.idf * (recall_lexical.k1 + 1) * tf / (tf + recall_lexical.k1)) AS score
        FROM scope
        JOIN memsense.chunks AS c ON c.tenant_id = scope.tenant_id AND c.scope_id = scope.scope_id
        JOIN statistics AS s ON s.granularity = c.granularity
        JOIN terms AS t ON t.granularity = c.granularity AND c.tsv @@ t.query
        CROSS JOIN cuts
        CROSS JOIN LATERAL (
            SELECT
                width_bucket(ts_rank('{0,0,0,1}', c.tsv, t.query)::float8, cuts.points) AS a,
                width_bucket(ts_rank('{0,0,1,1}', c.tsv, t.query)::float8, cuts.points) AS ab,
                width_bucket(ts_rank('{0,1,1,1}', c.tsv, t.query)::float8, cuts.points) AS abc,
                width_bucket(ts_rank('{1,1,1,1}', c.tsv, t.query)::float8, cuts.points) AS abcd
            OFFSET 0
        ) AS counted
        CROSS JOIN LATERAL (
            SELECT
                a * recall_lexical.weight_user
                  / (1 - recall_lexical.b + recall_lexical.b * c.user_length / s.user_average)
                + (ab - a) * recall_lexical.weight_assistant * coalesce(s.assistant_weight, 1)
                  / (1 - recall_lexical.b + recall_lexical.b * c.assistant_length / s.assistant_average)
                + (abc - ab) * recall_lexical.weight_tag
                  / (1 - recall_lexical.b + recall_lexical.b * c.tag_length / s.tag_average)
                + (abcd - abc) * recall_lexical.weight_context * coalesce(s.assistant_weight, 1)
                  / (1 - recall_lexical.b + recall_lexical.b * c.context_length / s.context_average) AS tf
            OFFSET 0
        ) AS weighted
        WHERE memsense.scope_lexemes(c.scope_id, c.tsv)
              && ARRAY(SELECT scope.scope_id || ':' || drivers.lexeme FROM scope CROSS JOIN drivers)
          AND tf > 0
        GROUP BY c.chunk_id, c.granularity
    ),
    best AS (
        SELECT chunk_id, granularity, score
        FROM scored
        ORDER BY score DESC, chunk_id
        LIMIT recall_lexical.top_k
    )
    SELECT
        row_number() OVER (PARTITION BY best.granularity ORDER BY best.score DESC, best.chunk_id),
        best.chunk_id, best.granularity, best.score
    FROM best
    ORDER BY best.score DESC, best.chunk_id
$$;

COMMENT ON FUNCTION memsense.recall_lexical(text, text, text, text, integer, text, double precision, double precision, double precision, double precision, integer, double precision, double precision) IS 'The lexical route alone, no vector needed: the chunks by BM25F, with their rank among their granularity. A null user_id searches every user.';
