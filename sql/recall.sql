-- THE recall query: nine routes, one CTE each (graph: five), fused by weighted reciprocal rank.
--
-- One statement, one tenant: every CTE that reads a table names tenant_id.
-- A route orders and limits in a subquery and ranks outside it; ties go to the lower chunk_id.
-- Ranks are counted per granularity: a session chunk never takes a turn chunk's rank. A session
-- chunk has a vector of its whole text only, so that the other vector routes find turns alone.
-- A route of weight 0 is a one-time filter: PostgreSQL never starts its scan. Without weight the
-- graph route is left out of the text.
--
-- Optional lines end in a marker and are chosen by memsense/queries.py:
--   one_user | all_users   the search names a user, or wants every user of the namespace
--   filtered     at least one filter is given; by_* keep the lines of the filters in use. Where
--                few chunks pass, their vectors are looked up one by one; else the routes are
--                scanned as without filters. IS TRUE keeps the planner, which does not know how many
--                will pass, from any plan but one hash table.
--   one_granularity   the search wants turns only, or session chunks only
--   exact | ann  ann: the scope has HNSW indexes of its own; scope_id and dimension are literals,
--                and what filters let through is looked up chunk by chunk, in the index's order;
--                each route sets hnsw.ef_search before its scan starts, for this statement alone
--   graph        the graph route has weight, and the question has words that may name entities
--   by_quoted    the profile lets only those chunks through that hold what the question quotes
--   identified   the profile boosts identifiers, and the question names some: a field of their own
--   worded       the profile boosts texts that hold the question, or what it quotes, word for word
--   bm25f | ts_rank   the lexical route: OR query with BM25F, or AND query with ts_rank_cd
--
-- Parameters:
--   tenant_id, namespace, user_id        whose memory
--   granularities                        'turn', 'session' or both
--   query_vector                         unit-length halfvec, null when no vector route has weight
--   terms                                the question as the lexical route reads it
--   route_limit, candidate_limit         rows kept per route, and after fusion
--   few_share, few_least                 so many chunks, and this share of all, are still few
--   ef_search_<route>                    how many chunks an HNSW scan keeps in view, as text
--   rrf_k                                the constant of reciprocal rank fusion (15)
--   weight_<route>                       one per route
--   k1, b, weight_user, weight_assistant, weight_tag, weight_context
--                                        BM25F (Robertson and Zaragoza 2009)
--   postings_budget                      how many postings the driving lexemes may have together
--   quoted_terms, quoted_patterns        what the question quotes: for to_tsvector, and as patterns
--   wordings                             patterns: of the whole question, of each of its quotations
--   identifiers, identifier_boost        what the question names, as lexemes; the field's weight
--   question_keys                        what the question may name, as entity keys
--   graph_similarity, graph_edges, graph_hops, graph_decay, graph_boost   docs/entities.md
-- Names in braces are literals: those of memsense/termcounts.py turn ts_rank of one lexeme back
-- into its counts per field. The one row of the result holds an array per column of the candidates,
-- in their order: decoding one array is far cheaper than decoding a value of every row.
WITH scope AS MATERIALIZED (
    SELECT s.scope_id, s.speakers, s.promoted, n.namespace_id, n.language, n.model_id, n.settings_version
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s
      AND s.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s
      AND s.user_id = %(user_id)s --: one_user
),
--: begin by_quoted
quoted AS MATERIALIZED (
    SELECT lexeme, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM unnest(tsvector_to_array(to_tsvector((SELECT language FROM scope LIMIT 1)::regconfig, %(quoted_terms)s))) AS lexeme
),
--: end by_quoted
--: begin filtered
filtered AS MATERIALIZED ( --: exact
filtered AS NOT MATERIALIZED ( --: ann
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND c.tsv IS NOT NULL
      AND c.session_id = ANY (%(session_ids)s::text[]) --: by_session
      AND c.session_id = ANY (ARRAY( --: by_project
          SELECT p.session_id FROM memsense.project_sessions AS p --: by_project
          WHERE p.tenant_id = %(tenant_id)s AND p.namespace_id = (SELECT namespace_id FROM scope LIMIT 1) --: by_project
            AND p.project = %(project)s)) --: by_project
      AND c.agent_id = %(agent_id)s --: by_agent
      AND c.occurred_at >= %(since)s --: by_since
      AND c.occurred_at < %(until)s --: by_until
      AND c.tags <> '{}' --: by_tags
      AND memsense.scope_tags(c.scope_id, c.tags) --: by_tags
          && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag) --: by_tags
      AND c.memory_kind = ANY (%(kinds)s::text[]) --: by_kinds
      AND c.metadata @> %(metadata)s::jsonb --: by_metadata
      AND c.chunk_id <> ALL (%(exclude_chunks)s::bigint[]) --: by_exclude
      AND NOT EXISTS ( --: by_exclude
          SELECT FROM memsense.chunks AS x --: by_exclude
          WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = c.scope_id --: by_exclude
            AND x.chunk_id = ANY (%(exclude_chunks)s::bigint[]) AND x.granularity = 'session' --: by_exclude
            AND x.session_id = c.session_id --: by_exclude
            AND (c.ordinal, c.part) >= (x.ordinal, x.part) AND c.ordinal <= x.last_ordinal) --: by_exclude
      AND NOT c.message_ids && %(exclude_messages)s::text[] --: by_exclude
      AND memsense.scope_lexemes(c.scope_id, c.tsv) --: by_quoted one_user
          @> ARRAY(SELECT scope_id || ':' || lexeme FROM scope CROSS JOIN quoted) --: by_quoted one_user
      -- The words are looked at before the text, which lies out of line. --: by_quoted
      AND CASE --: by_quoted
          WHEN c.tsv @@ (SELECT string_agg(query::text, ' & ')::tsquery FROM quoted) IS NOT FALSE --: by_quoted
          THEN concat_ws(E'\x1e', c.session_text, c.user_text, c.assistant_text) ~* ALL (%(quoted_patterns)s::text[]) --: by_quoted
          END --: by_quoted
),
--: end filtered
statistics AS MATERIALIZED (
    SELECT
        granularity,
        sum(chunk_count)::float8 AS chunk_count,
        greatest(sum(user_length) / nullif(sum(chunk_count), 0), 1)::float8 AS user_average,
        greatest(sum(assistant_length) / nullif(sum(chunk_count), 0), 1)::float8 AS assistant_average,
        greatest(sum(tag_length) / nullif(sum(chunk_count), 0), 1)::float8 AS tag_average,
        greatest(sum(context_length) / nullif(sum(chunk_count), 0), 1)::float8 AS context_average,
        least(greatest(coalesce(sqrt(sum(user_length) / nullif(sum(assistant_length), 0)::float8), 1), 0.2), 1) AS assistant_weight
    FROM memsense.scope_statistics
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
    GROUP BY granularity
),
--: begin filtered
few AS MATERIALIZED (
    SELECT count(*) <= %(few_share)s * (SELECT sum(chunk_count) FROM statistics) + %(few_least)s AS are_few
    FROM (
        SELECT FROM filtered
        LIMIT (SELECT %(few_share)s * sum(chunk_count) + %(few_least)s + 1 FROM statistics)::bigint
    ) AS counted
),
near AS MATERIALIZED (
    SELECT e.route, e.chunk_id, e.granularity, e.embedding <#> %(query_vector)s::halfvec AS distance
    FROM filtered AS f
    CROSS JOIN LATERAL (
        SELECT route, chunk_id, granularity, embedding
        FROM memsense.embeddings
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: all_users
          AND chunk_id = f.chunk_id
          AND granularity = ANY (%(granularities)s::text[]) --: one_granularity
        OFFSET 0
    ) AS e
    WHERE (SELECT are_few FROM few)
),
--: end filtered
question AS MATERIALIZED (
    SELECT DISTINCT lexeme
    FROM unnest(tsvector_to_array(to_tsvector((SELECT language FROM scope LIMIT 1)::regconfig, %(terms)s))) AS lexeme
),
--: begin bm25f
terms AS MATERIALIZED (
    SELECT
        statistics.granularity,
        question.lexeme,
        coalesce(found.document_frequency, 0) AS document_frequency,
        ln(1 + (chunk_count - coalesce(found.document_frequency, 0) + 0.5)
             / (coalesce(found.document_frequency, 0) + 0.5)) AS idf,
        ('''' || replace(replace(question.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query,
        1 - %(b)s::float8 AS base,
        %(b)s / user_average AS user_slope,
        %(b)s / assistant_average AS assistant_slope,
        %(b)s / tag_average AS tag_slope,
        %(b)s / context_average AS context_slope,
        %(weight_assistant)s * coalesce(assistant_weight, 1) AS assistant_weight,
        %(weight_context)s * coalesce(assistant_weight, 1) AS context_weight
    FROM statistics
    CROSS JOIN question
    LEFT JOIN (
        SELECT granularity, lexeme, sum(document_frequency)::float8 AS document_frequency
        FROM memsense.lexemes
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND granularity = ANY (%(granularities)s::text[])
          AND lexeme = ANY (ARRAY(SELECT lexeme FROM question))
        GROUP BY granularity, lexeme
    ) AS found USING (granularity, lexeme)
    WHERE statistics.granularity = ANY (%(granularities)s::text[])
      AND statistics.chunk_count > 0
),
drivers AS MATERIALIZED (
    SELECT lexeme
    FROM (
        SELECT
            lexeme,
            sum(sum(document_frequency)) OVER by_rarity AS postings,
            row_number() OVER by_rarity AS position
        FROM terms
        WHERE document_frequency > 0
        GROUP BY lexeme
        WINDOW by_rarity AS (ORDER BY sum(document_frequency), lexeme)
    ) AS by_rarity
    WHERE postings <= %(postings_budget)s OR position = 1
),
--: end bm25f
--: begin identified
identifiers AS MATERIALIZED (
    SELECT identifier, position, ('''' || replace(replace(identifier, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM unnest(%(identifiers)s::text[]) WITH ORDINALITY AS asked (identifier, position)
),
identifier_matches AS MATERIALIZED (
    SELECT c.chunk_id, c.granularity, i.position
    FROM memsense.chunks AS c
    JOIN identifiers AS i ON c.tsv @@ i.query
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope.scope_id || ':' || identifiers.identifier FROM scope CROSS JOIN identifiers)
      AND c.granularity = ANY (%(granularities)s::text[]) --: one_granularity
),
identifier_weights AS MATERIALIZED (
    SELECT
        granularity, position,
        ln(1 + (chunk_count - coalesce(document_frequency, 0) + 0.5) / (coalesce(document_frequency, 0) + 0.5)) AS idf
    FROM statistics
    CROSS JOIN identifiers
    LEFT JOIN (
        SELECT granularity, position, count(*)::float8 AS document_frequency
        FROM identifier_matches
        GROUP BY granularity, position
    ) AS found USING (granularity, position)
    WHERE chunk_count > 0
),
identified AS MATERIALIZED (
    SELECT
        m.chunk_id, m.granularity, sum(w.idf) AS score,
        sum(w.idf) / (SELECT sum(idf) FROM identifier_weights AS a WHERE a.granularity = m.granularity) AS share,
        array_agg(m.position ORDER BY m.position) AS positions
    FROM identifier_matches AS m
    JOIN identifier_weights AS w USING (granularity, position)
    WHERE (m.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
    WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = m.chunk_id) --: ann filtered
    GROUP BY m.chunk_id, m.granularity
),
--: end identified
lexical AS MATERIALIZED (
    SELECT chunk_id, granularity, sum(score) AS score --: identified
    FROM ( --: identified
--: begin bm25f
    SELECT chunk_id, granularity, (%(k1)s + 1) * sum(idf * tf / (tf + %(k1)s)) AS score
    FROM (
        SELECT
            chunk_id,
            granularity,
            idf,
            CASE WHEN code <= {count_codes} THEN ({count_user})[code]
                 ELSE width_bucket(ts_rank('{0,0,0,1}', tsv, query)::float8, {harmonic_cuts}) END
            * %(weight_user)s / (base + user_slope * user_length)
            + CASE WHEN code <= {count_codes} THEN ({count_assistant})[code]
                   ELSE width_bucket(ts_rank('{0,0,1,1}', tsv, query)::float8, {harmonic_cuts})
                      - width_bucket(ts_rank('{0,0,0,1}', tsv, query)::float8, {harmonic_cuts}) END
            * assistant_weight / (base + assistant_slope * assistant_length)
            + CASE WHEN code <= {count_codes} THEN ({count_tags})[code]
                   ELSE width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, {harmonic_cuts})
                      - width_bucket(ts_rank('{0,0,1,1}', tsv, query)::float8, {harmonic_cuts}) END
            * %(weight_tag)s / (base + tag_slope * tag_length)
            + CASE WHEN code <= {count_codes} THEN ({count_context})[code]
                   ELSE width_bucket(ts_rank('{1,1,1,1}', tsv, query)::float8, {harmonic_cuts})
                      - width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, {harmonic_cuts}) END
            * context_weight / (base + context_slope * context_length) AS tf
        FROM (
            SELECT *, width_bucket(ts_rank({count_weights}, tsv, query)::float8, {count_cuts}) AS code
            FROM (
                SELECT t.*, c.chunk_id, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length
                FROM terms AS t
                CROSS JOIN LATERAL (
                    SELECT chunk_id, tsv, user_length, assistant_length, tag_length, context_length
                    FROM memsense.chunks
                    WHERE tenant_id = %(tenant_id)s
                      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
                      AND memsense.scope_lexemes(scope_id, tsv)
                          && ARRAY(SELECT scope.scope_id || ':' || t.lexeme FROM scope)
                      AND memsense.scope_lexemes(scope_id, tsv)
                          && ARRAY(SELECT scope.scope_id || ':' || drivers.lexeme FROM scope CROSS JOIN drivers
                                   WHERE drivers.lexeme = t.lexeme OR t.lexeme NOT IN (SELECT lexeme FROM drivers))
                      AND granularity = t.granularity
                    OFFSET 0
                ) AS c
                WHERE t.document_frequency > 0
            ) AS held
            WHERE %(weight_lexical)s > 0
              AND granularity = ANY (%(granularities)s::text[]) --: one_granularity
              AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
              AND (SELECT true FROM filtered AS f WHERE f.chunk_id = held.chunk_id) --: ann filtered
            OFFSET 0
        ) AS matched
        OFFSET 0
    ) AS counted
    WHERE tf > 0
    GROUP BY chunk_id, granularity
--: end bm25f
--: begin ts_rank
    SELECT c.chunk_id, c.granularity, ts_rank_cd(own.tsv, asked.query)::float8 AS score
    FROM memsense.chunks AS c
    CROSS JOIN (SELECT websearch_to_tsquery((SELECT language FROM scope LIMIT 1)::regconfig, %(terms)s) AS query) AS asked
    CROSS JOIN LATERAL (SELECT ts_filter(c.tsv, '{a,b,c}') AS tsv) AS own
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope.scope_id || ':' || question.lexeme FROM scope CROSS JOIN question)
      AND c.granularity = ANY (%(granularities)s::text[])
      AND own.tsv @@ asked.query
      AND %(weight_lexical)s > 0
      AND (c.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
      AND (SELECT true FROM filtered AS f WHERE f.chunk_id = c.chunk_id) --: ann filtered
--: end ts_rank
    UNION ALL --: identified
    SELECT chunk_id, granularity, %(identifier_boost)s * score FROM identified WHERE %(weight_lexical)s > 0 --: identified
    ) AS scored --: identified
    GROUP BY chunk_id, granularity --: identified
),
vec_full AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: filtered
        SELECT chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT chunk_id, granularity, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_full
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_vec_full)s, true)) IS NOT NULL --: ann
          AND granularity = ANY (%(granularities)s::text[]) --: one_granularity
          AND %(weight_vec_full)s > 0
          AND NOT (SELECT are_few FROM few) --: filtered
          AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id) --: ann filtered
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: filtered
        UNION ALL --: filtered
        (SELECT chunk_id, granularity, distance FROM near WHERE route = 'full' AND %(weight_vec_full)s > 0 --: filtered
         ORDER BY distance, chunk_id LIMIT %(route_limit)s) --: filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
vec_user AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: filtered
        SELECT chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT chunk_id, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_vec_user)s, true)) IS NOT NULL --: ann
          AND %(weight_vec_user)s > 0
          AND NOT (SELECT are_few FROM few) --: filtered
          AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id) --: ann filtered
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: filtered
        UNION ALL --: filtered
        (SELECT chunk_id, distance FROM near WHERE route = 'user' AND %(weight_vec_user)s > 0 --: filtered
         ORDER BY distance, chunk_id LIMIT %(route_limit)s) --: filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
vec_assistant AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: filtered
        SELECT chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT chunk_id, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_assistant
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_vec_assistant)s, true)) IS NOT NULL --: ann
          AND %(weight_vec_assistant)s > 0
          AND NOT (SELECT are_few FROM few) --: filtered
          AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id) --: ann filtered
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: filtered
        UNION ALL --: filtered
        (SELECT chunk_id, distance FROM near WHERE route = 'assistant' AND %(weight_vec_assistant)s > 0 --: filtered
         ORDER BY distance, chunk_id LIMIT %(route_limit)s) --: filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
vec_next_user AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: ann filtered
        SELECT previous_chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT previous_chunk_id AS chunk_id, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_vec_next_user)s, true)) IS NOT NULL --: ann
          AND previous_chunk_id IS NOT NULL
          AND %(weight_vec_next_user)s > 0
          AND NOT (SELECT are_few FROM few) --: ann filtered
          AND (previous_chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.previous_chunk_id) --: ann filtered
        ORDER BY distance, previous_chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: ann filtered
        UNION ALL --: ann filtered
        (SELECT previous_chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: ann filtered
         FROM memsense.embeddings_user --: ann filtered
         WHERE tenant_id = %(tenant_id)s AND scope_id = {scope_id} --: ann filtered
           AND %(weight_vec_next_user)s > 0 AND (SELECT are_few FROM few) --: ann filtered
           AND (previous_chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: ann filtered
         ORDER BY distance, previous_chunk_id LIMIT %(route_limit)s) --: ann filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
lexical_ranked AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(score) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(score) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id, granularity, score
        FROM lexical
        ORDER BY score DESC, chunk_id
        LIMIT %(route_limit)s
    ) AS best
),
facet_personal_info AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: filtered
        SELECT chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT chunk_id, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_personal_info
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_facet_personal_info)s, true)) IS NOT NULL --: ann
          AND %(weight_facet_personal_info)s > 0
          AND NOT (SELECT are_few FROM few) --: filtered
          AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id) --: ann filtered
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: filtered
        UNION ALL --: filtered
        (SELECT chunk_id, distance FROM near WHERE route = 'personal_info' AND %(weight_facet_personal_info)s > 0 --: filtered
         ORDER BY distance, chunk_id LIMIT %(route_limit)s) --: filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
facet_preferences AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: filtered
        SELECT chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT chunk_id, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_preferences
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_facet_preferences)s, true)) IS NOT NULL --: ann
          AND %(weight_facet_preferences)s > 0
          AND NOT (SELECT are_few FROM few) --: filtered
          AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id) --: ann filtered
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: filtered
        UNION ALL --: filtered
        (SELECT chunk_id, distance FROM near WHERE route = 'preferences' AND %(weight_facet_preferences)s > 0 --: filtered
         ORDER BY distance, chunk_id LIMIT %(route_limit)s) --: filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
facet_events AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT * FROM ( --: ann
        (SELECT * FROM ( --: filtered
        SELECT chunk_id, embedding <#> %(query_vector)s::halfvec AS distance --: exact
        SELECT chunk_id, embedding::halfvec({dimension}) <#> %(query_vector)s::halfvec({dimension}) AS distance --: ann
        FROM memsense.embeddings_events
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: exact one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: exact all_users
          AND scope_id = {scope_id} --: ann
          AND (SELECT set_config('hnsw.ef_search', %(ef_search_facet_events)s, true)) IS NOT NULL --: ann
          AND %(weight_facet_events)s > 0
          AND NOT (SELECT are_few FROM few) --: filtered
          AND (chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
          AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id) --: ann filtered
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
        ) AS scanned) --: filtered
        UNION ALL --: filtered
        (SELECT chunk_id, distance FROM near WHERE route = 'events' AND %(weight_facet_events)s > 0 --: filtered
         ORDER BY distance, chunk_id LIMIT %(route_limit)s) --: filtered
        ) AS relaxed ORDER BY distance + 0, chunk_id --: ann
    ) AS nearest
),
--: begin graph
graph_named AS MATERIALIZED (
    SELECT scope_id, entity_id, key
    FROM memsense.entities
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope) --: one_user
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: all_users
      AND key = ANY (%(question_keys)s::text[])
),
graph_spellings AS MATERIALIZED (
    SELECT asked.key, spelling
    FROM unnest(%(question_keys)s::text[]) AS asked (key)
    CROSS JOIN LATERAL unnest(memsense.spellings(asked.key)) AS spelling
    WHERE asked.key NOT IN (SELECT key FROM graph_named)
),
graph_linked AS MATERIALIZED (
    SELECT scope_id, entity_id FROM graph_named
    UNION
    SELECT near.scope_id, near.entity_id
    FROM (
        SELECT scope_id, entity_id, key
        FROM memsense.entities
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope) --: one_user
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: all_users
          AND memsense.scope_spellings(scope_id, key)
              && ARRAY(SELECT scope.scope_id || ':' || spelling FROM scope CROSS JOIN graph_spellings)
        OFFSET 0
    ) AS near
    CROSS JOIN LATERAL unnest(memsense.spellings(near.key)) AS shared
    JOIN graph_spellings AS asked ON asked.spelling = shared
    GROUP BY near.scope_id, near.entity_id, near.key, asked.key
    HAVING 2.0 * max(length(shared)) / (length(near.key) + length(asked.key)) > %(graph_similarity)s
),
graph_reached AS MATERIALIZED (
    WITH RECURSIVE reached AS (
        SELECT scope_id, entity_id, 0 AS hop FROM graph_linked
        UNION
        SELECT near.scope_id, near.entity_id, reached.hop + 1
        FROM reached
        CROSS JOIN LATERAL (
            SELECT scope_id, entity_id
            FROM (
                SELECT scope_id, entity_b AS entity_id, weight FROM memsense.edges
                WHERE tenant_id = %(tenant_id)s AND scope_id = reached.scope_id AND entity_a = reached.entity_id
                UNION ALL
                SELECT scope_id, entity_a, weight FROM memsense.edges
                WHERE tenant_id = %(tenant_id)s AND scope_id = reached.scope_id AND entity_b = reached.entity_id
            ) AS beside
            ORDER BY weight DESC, entity_id
            LIMIT %(graph_edges)s
        ) AS near
        WHERE reached.hop < %(graph_hops)s
    )
    SELECT scope_id, entity_id, min(hop) AS hop FROM reached GROUP BY scope_id, entity_id
),
graph AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(score) AS turn_scores
    FROM (
        SELECT
            chunk_id,
            least(mentions / max(mentions) OVER () * CASE WHEN is_linked THEN %(graph_boost)s ELSE 1 END, 1)::float8 AS score
        FROM (
            SELECT
                m.chunk_id,
                sum(m.mention_count * power(%(graph_decay)s::float8, r.hop)) AS mentions,
                bool_or(r.hop = 0) AS is_linked
            FROM graph_reached AS r
            JOIN memsense.mentions AS m
              ON m.tenant_id = %(tenant_id)s AND m.scope_id = r.scope_id AND m.entity_id = r.entity_id
            WHERE (m.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE --: exact filtered
            WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = m.chunk_id) --: ann filtered
            GROUP BY m.chunk_id
        ) AS mentioned
        ORDER BY score DESC, chunk_id
        LIMIT %(route_limit)s
    ) AS best
),
--: end graph
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, NULL, NULL, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, NULL, NULL, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, NULL, NULL, %(weight_vec_next_user)s::float8 AS weight FROM vec_next_user
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, sessions, session_scores, %(weight_lexical)s::float8 AS weight FROM lexical_ranked
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, NULL, NULL, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, NULL, NULL, %(weight_facet_preferences)s::float8 AS weight FROM facet_preferences
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, NULL, NULL, %(weight_facet_events)s::float8 AS weight FROM facet_events
    UNION ALL --: graph
    SELECT 9 AS route, turns, turn_scores, NULL, NULL, %(weight_graph)s::float8 AS weight FROM graph --: graph
),
ranked AS (
    SELECT unnest(chunk_ids) AS chunk_id, weight / (%(rrf_k)s + generate_subscripts(chunk_ids, 1)) AS share
    FROM (
        SELECT turns AS chunk_ids, weight FROM routes
        UNION ALL
        SELECT sessions, weight FROM routes
    ) AS listed
),
fused AS MATERIALIZED (
    SELECT chunk_id, sum(share) AS rrf_score
    FROM ranked
    GROUP BY chunk_id
    ORDER BY rrf_score DESC, chunk_id
    LIMIT %(candidate_limit)s
),
hits AS (
    SELECT
        array_agg(route) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_routes,
        array_agg(cardinality(chunk_ids)) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_counts,
        string_agg(array_send(chunk_ids), '') AS hit_chunk_ids,
        string_agg(array_send(scores), '') AS hit_scores
    FROM (
        SELECT route, turns AS chunk_ids, turn_scores AS scores FROM routes
        UNION ALL
        SELECT route, sessions, session_scores FROM routes
    ) AS listed
),
candidates AS (
    SELECT
        (SELECT array_agg(chunk_id) FROM fused) AS chunk_ids,
        (SELECT array_agg(rrf_score) FROM fused) AS rrf_scores,
        array_agg(chunk_id) AS payload_ids,
        array_agg(scope_id) AS scope_ids,
        array_agg(granularity) AS granularities,
        array_agg(session_id) AS session_ids,
        array_agg(ordinal) AS ordinals,
        array_agg(part) AS parts,
        array_agg(memory_score) AS memory_scores,
        array_agg(occurred_at) AS times,
        array_agg(user_speaker) AS user_speakers,
        array_agg(assistant_speaker) AS assistant_speakers,
        jsonb_object_agg(chunk_id, array_append(tags, task_tag)) FILTER (WHERE tags <> '{}' OR task_tag IS NOT NULL) AS tags
        , jsonb_object_agg(chunk_id, worded) FILTER (WHERE worded <> '{}') AS worded --: worded
        , jsonb_object_agg(chunk_id, jsonb_build_array(share, positions)) FILTER (WHERE share > 0) AS identified --: identified
    FROM memsense.chunks
    LEFT JOIN (SELECT chunk_id, share, positions FROM identified) AS named USING (chunk_id) --: identified
    CROSS JOIN LATERAL ( --: worded
        SELECT array_agg(w.position) AS worded --: worded
        FROM unnest(%(wordings)s::text[]) WITH ORDINALITY AS w (pattern, position) --: worded
        WHERE concat_ws(E'\x1e', session_text, user_text, assistant_text) ~* w.pattern --: worded
    ) AS held --: worded
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope) --: one_user
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: all_users
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
),
vectors AS (
    SELECT array_agg(chunk_id) AS embedded, string_agg(halfvec_send(embedding), '') AS embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope) --: one_user
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) --: all_users
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND route = 'full'
),
state AS (
    SELECT jsonb_build_object(
        'scopes', (SELECT count(*) FROM scope),
        'model_id', (SELECT max(model_id) FROM scope),
        'settings_version', (SELECT max(settings_version) FROM scope),
        'counts', (SELECT jsonb_object_agg(granularity, chunk_count) FROM statistics),
        'question', (SELECT jsonb_agg(lexeme ORDER BY lexeme) FROM question),
        'speakers', (SELECT speakers FROM scope), --: one_user
        'promoted', (SELECT promoted FROM scope), --: one_user
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ( --: bm25f
            SELECT granularity, (%(k1)s + 1) * sum(idf) --: bm25f
                + (SELECT %(identifier_boost)s * sum(w.idf) FROM identifier_weights AS w WHERE w.granularity = terms.granularity) --: bm25f identified
                AS ceiling --: bm25f
            FROM terms GROUP BY granularity) AS by_granularity), --: bm25f
        'matches', (SELECT count(*) FROM lexical)
    ) AS state
)
SELECT
    state, chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids, scope_ids, granularities,
    session_ids, ordinals, parts, memory_scores, times, user_speakers, assistant_speakers, tags, embedded, embeddings
    , worded --: worded
    , identified --: identified
FROM state
CROSS JOIN candidates
CROSS JOIN vectors
CROSS JOIN hits
