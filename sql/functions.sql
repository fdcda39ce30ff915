-- Functions to call from psql; memsense itself calls none of them. Every migration creates them anew, after
-- the views. In PL/pgSQL, since Citus does not plan an SQL function's statement by its arguments.

CREATE FUNCTION memsense.explain(trace_id uuid)
RETURNS TABLE (
    hit_rank integer, chunk_id bigint, part text, value double precision, running_total double precision, detail text
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
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
    ORDER BY hit_rank, step, part;
END $$;

COMMENT ON FUNCTION memsense.explain(uuid) IS 'The arithmetic of every hit of a recorded search, one line for each part, with a running total that ends at its score.';

-- The lexical route alone, in the steps of recall (recall.sql); the defaults are those of the balanced
-- profile. `memsense sql lexemes "question"` prints the lexemes of a question.
CREATE FUNCTION memsense.recall_lexical(
    tenant text, namespace text, user_id text, question tsvector, top_k integer DEFAULT 10,
    granularity text DEFAULT NULL, k1 double precision DEFAULT 1.2, b double precision DEFAULT 0.75,
    weight_context double precision DEFAULT 0.4, weight_tag double precision DEFAULT 1,
    postings_budget integer DEFAULT 2000, weight_user double precision DEFAULT 1,
    weight_assistant double precision DEFAULT 1
)
RETURNS TABLE (rank bigint, chunk_id bigint, kind text, score double precision)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH {steps},
    best AS (
        SELECT chunk_id, granularity, score
        FROM words
        ORDER BY score DESC, chunk_id
        LIMIT recall_lexical.top_k
    )
    SELECT
        row_number() OVER (PARTITION BY best.granularity ORDER BY best.score DESC, best.chunk_id),
        best.chunk_id, best.granularity, best.score
    FROM best
    ORDER BY best.score DESC, best.chunk_id;
END $$;

COMMENT ON FUNCTION memsense.recall_lexical(text, text, text, tsvector, integer, text, double precision, double precision, double precision, double precision, integer, double precision, double precision) IS 'The lexical route alone, no vector needed: the chunks by BM25F, with their rank among their granularity. A null user_id searches every user.';
