-- The recall query in parts, in the order in which it computes: routes, a CTE each, fused by
-- weighted reciprocal rank. memsense/search/recall/statement.py joins the parts that a search needs into one
-- statement of one tenant; `memsense sql recall` prints any such statement. Optional routes
-- are in files of their own.
--
-- A part is SQL once its holes, names in braces, are filled. Comments are not sent.
--
-- A route orders and limits in a subquery; ties go to the lower chunk_id. Ranks are counted per
-- granularity, so that a session chunk never takes a turn chunk's rank, unless the profile counts them
-- over one list of both. A vector route of weight 0 is left
-- out; so are the parts that separate turns from sessions in a search of turns alone, and those that
-- hide expired chunks if nothing has expired.
--
-- Parameters:
--   tenant_id, namespace, user_id        whose memory
--   granularities                        'turn', 'session' or both
--   query_vector                         unit-length halfvec, null when no vector route has weight
--   model_id                             the model that query_vector is of: no other's are read
--   other_model_id, other_vector         the same of a second model, in a search that reads two
--   terms                                the question's lexemes, each with the number of the word that it is
--                                        a spelling of (memsense/text/lexemes.py, ask_lexemes)
--   query                                the question as a tsquery, for ts_rank
--   question_words                       how many words of a long question are searched for
--   near_words                           how many words that the memory lacks are looked up among near ones
--   near_lexemes                         how many lexemes stand in for such a word
--   near_share, part_share               what a near lexeme counts, and one that is a part of the word
--   near_letters, part_letters, rest_letters
--                                        letters of the shortest word that may be misspelt, of the shortest part of
--                                        a compound, and of what remains of it
--   route_limit, candidate_limit         rows kept per route, and after fusion
--   token_limit                          how many candidates' tokens are read
--   few_share, few_least                 so many chunks, and this share of all, are still few
--   rrf_k                                the constant of reciprocal rank fusion (15)
--   weight_<route>                       one per route
--   k1, b, weight_user, weight_assistant, weight_tag, weight_context
--                                        BM25F (Robertson and Zaragoza 2009)
--   postings_budget                      how many postings the driving lexemes may have together
--   session_ids, project, agent_id, since, until, tags, kinds, metadata, exclude_chunks,
--   exclude_messages                     the filters, each where it is in use
--   quoted_lexemes, quoted_patterns      what the question quotes: lexemes of its words, and as patterns
--   wordings                             patterns: of the whole question, of each of its quotations
--   identifiers, identifier_boost        what the question names, as lexemes; the field's weight

-- name: scope
-- The memories to search: one, or every one of the namespace.
scope AS MATERIALIZED (
    SELECT s.scope_id, s.speakers, s.indexed, s.languages, s.lexemes_version, n.namespace_id, n.model_id,
        n.settings_version
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s
      AND s.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s
      AND {whose}
)

-- name: whose_one_user
s.user_id = %(user_id)s

-- name: whose_all_users
true

-- name: in_scope_one_user
-- Each row that a scan reads is compared: one number with one number takes half of ANY's time.
scope_id = (SELECT scope_id FROM scope)

-- name: in_scope_all_users
scope_id = ANY (ARRAY(SELECT scope_id FROM scope))

-- name: statistics
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
      AND {in_scope}
    GROUP BY granularity
)

-- name: question
-- A row for each spelling of each word. A lexeme is a spelling of one word alone.
question AS MATERIALIZED (
    SELECT lexeme, positions[1]::integer AS word, weights[1] = 'A' AS may_be_near
    FROM unnest(%(terms)s::tsvector)
)

-- name: rarest
-- Of a long question: the words that fewest chunks hold, and last those that none holds.
rarest AS MATERIALIZED (
    SELECT question.lexeme, question.word, question.may_be_near
    FROM question
    JOIN (
        SELECT word
        FROM question
        LEFT JOIN (
            SELECT lexeme, sum(document_frequency) AS document_frequency
            FROM memsense.lexemes
            WHERE tenant_id = %(tenant_id)s
              AND {in_scope}
              AND granularity = ANY (%(granularities)s::text[])
              AND lexeme = ANY (ARRAY(SELECT lexeme FROM question))
            GROUP BY lexeme
        ) AS found USING (lexeme)
        GROUP BY word
        ORDER BY nullif(sum(document_frequency), 0) NULLS LAST, min(lexeme)
        LIMIT %(question_words)s
    ) AS chosen USING (word)
)

-- name: quoted
-- Words of the texts that a chunk must hold word for word.
quoted AS MATERIALIZED (
    SELECT lexeme, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM unnest(%(quoted_lexemes)s::text[]) AS lexeme
)

-- name: filtered
-- The chunks that pass every filter in use. An HNSW scan goes through its index in the index's
-- order and looks each chunk up here; an exact one hashes all of them once.
filtered AS {materialized} (
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.{in_scope}
      AND c.tsv IS NOT NULL
      AND {conditions}
)

-- name: holds_quoted_words
-- The index finds the few chunks of one memory that hold every word of a quotation.
memsense.scope_lexemes(c.scope_id, c.tsv)
    @> ARRAY(SELECT scope_id || ':' || lexeme FROM scope CROSS JOIN quoted)

-- name: quoting
-- The same where policies leave the index to a function.
quoting AS MATERIALIZED (
    SELECT chunk_id
    FROM memsense.find_chunks(ARRAY(SELECT scope_id FROM scope), ARRAY(SELECT lexeme FROM quoted))
)

-- name: is_quoting
c.chunk_id IN (SELECT chunk_id FROM quoting)

-- name: tagged
tagged AS MATERIALIZED (
    SELECT chunk_id
    FROM memsense.find_tagged(ARRAY(SELECT scope_id FROM scope), %(tags)s::text[])
)

-- name: is_tagged
c.chunk_id IN (SELECT chunk_id FROM tagged)

-- name: exchanges
-- A session chunk takes part only where each exchange that it holds, and that is stored as a turn
-- chunk, passes too: what a search must not show does not rank either.
(c.granularity = 'turn' OR NOT EXISTS (
    SELECT
    FROM (SELECT c.scope_id, c.session_id, c.ordinal, c.part, c.last_ordinal) AS x
    CROSS JOIN LATERAL (
        SELECT
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = x.scope_id
          AND c.session_id = x.session_id
          AND c.granularity = 'turn'
          AND c.status = 'active'
          AND (c.ordinal, c.part) >= (x.ordinal, x.part)
          AND c.ordinal <= x.last_ordinal
          AND (
              {conditions}
          ) IS NOT TRUE
    ) AS failing))

-- name: few
-- If few chunks pass, their vectors are looked up one by one; otherwise the routes are scanned as
-- without filters.
few AS MATERIALIZED (
    SELECT count(*) <= %(few_share)s * (SELECT sum(chunk_count) FROM statistics) + %(few_least)s AS are_few
    FROM (
        SELECT FROM filtered
        LIMIT (SELECT %(few_share)s * sum(chunk_count) + %(few_least)s + 1 FROM statistics)::bigint
    ) AS counted
)

-- name: near
{near} AS MATERIALIZED (
    SELECT e.route, e.chunk_id, e.granularity, embedding <#> %({vector})s::halfvec AS distance
    FROM filtered AS f
    CROSS JOIN LATERAL (
        SELECT route, chunk_id, granularity, embedding
        FROM memsense.embeddings
        WHERE tenant_id = %(tenant_id)s
          AND {in_scope}
          AND chunk_id = f.chunk_id
          AND model_id = {model}
          AND {of_granularity}
        OFFSET 0
    ) AS e
    WHERE (SELECT are_few FROM few)
)

-- name: passes_hashed
-- IS TRUE keeps the planner, which does not know how many pass, from any plan but one hash table.
({chunk} IN (SELECT chunk_id FROM filtered)) IS TRUE

-- name: passes_looked_up
(SELECT true FROM filtered AS f WHERE f.chunk_id = {chunk})

-- name: vector_route
-- Every vector route: the nearest chunks by its vectors, best first, separated by granularity. A search that
-- reads two models has each route twice: of every text, the vector of the model that compares its language.
-- The ranks of either are counted by themselves, since distances of two models are no order.
{name} AS (
    SELECT
        {lists}
    FROM (
        {nearest}
    ) AS nearest
)

-- name: answers
-- In a search that reads two models: the vector's model is the one that compares the text.
NOT beside

-- name: mark
, beside

-- name: lists_of_turns
array_agg(chunk_id) AS turns,
array_agg({score}) AS turn_scores

-- name: lists_of_both
array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
array_agg({score}) FILTER (WHERE granularity = 'turn') AS turn_scores,
array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
array_agg({score}) FILTER (WHERE granularity = 'session') AS session_scores

-- name: scan_exact
SELECT {chunk} AS chunk_id{and_granularity}, embedding <#> %({vector})s::halfvec AS distance
FROM memsense.{table}
WHERE tenant_id = %(tenant_id)s
  AND {in_scope}
  AND model_id = {model}
  AND {takes_part}
ORDER BY distance, {chunk}
LIMIT %(route_limit)s

-- name: scan_indexed
-- A partial index serves a query only where its predicate and its width stand in the text as
-- literals. Each route sets its own breadth before its scan starts, for this statement alone.
-- The index is read in the order of its distance alone, as before PostgreSQL 17 no index serves a longer
-- order; in_order breaks ties. Fresh vectors, which the index does not have yet, are compared one by one, and
-- looked at in their order: filters, which cost more than a comparison, are asked of the nearest alone.
(SELECT {chunk} AS chunk_id{and_granularity}, embedding::halfvec({dimension}) <#> %({vector})s::halfvec({dimension}) AS distance
 FROM memsense.{table}
 WHERE tenant_id = %(tenant_id)s
   AND scope_id = {scope_id}
   AND model_id = {model_id}
   AND NOT fresh
   AND (SELECT set_config('hnsw.ef_search', {ef_search}, true)) IS NOT NULL
   AND {takes_part}
 ORDER BY distance
 LIMIT %(route_limit)s)
UNION ALL
(SELECT {chunk} AS chunk_id{and_granularity}, distance
 FROM (
     SELECT chunk_id, previous_chunk_id, granularity{and_mark}, embedding <#> %({vector})s::halfvec AS distance
     FROM memsense.{table}
     WHERE tenant_id = %(tenant_id)s
       AND scope_id = {scope_id}
       AND model_id = {model_id}
       AND fresh
     ORDER BY distance, {chunk}
     OFFSET 0
 ) AS {table}
 WHERE {takes_part}
 LIMIT %(route_limit)s)

-- name: ef_search
-- How many chunks an HNSW scan keeps in view: the more, the larger the memory. pgvector allows 1,000.
(SELECT least(1000, ceil(%(route_limit)s * greatest(1, {share} * power(sum(chunk_count) / 100000, {growth}))))::integer::text
 FROM statistics)

-- name: cosines
-- For optional routes: the cosine of each chunk that a step of theirs found, by the model that compares its text.
SELECT chunk_id, -(embedding <#> %({vector})s::halfvec) AS cosine
FROM memsense.embeddings_full
WHERE tenant_id = %(tenant_id)s
  AND {in_scope}
  AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM {step}))
  AND model_id = {model}
  AND {answers}

-- name: unless_few
(
    {scan}
)
UNION ALL
(SELECT chunk_id{and_granularity}, distance
 FROM {near}
 WHERE route = {part}
 ORDER BY distance, chunk_id
 LIMIT %(route_limit)s)

-- name: unless_few_next
-- What the user said next is looked up by the chunk before it, so that `near` does not have it.
(
    {scan}
)
UNION ALL
(SELECT previous_chunk_id{and_granularity}, embedding <#> %({vector})s::halfvec AS distance
 FROM memsense.{table}
 WHERE tenant_id = %(tenant_id)s
   AND scope_id = {scope_id}
   AND model_id = {model_id}
   AND (SELECT are_few FROM few)
   AND (previous_chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
   AND {is_shown}
 ORDER BY distance, previous_chunk_id
 LIMIT %(route_limit)s)

-- name: in_order
-- An HNSW scan may give its rows slightly out of order, and fresh ones come behind them.
SELECT *
FROM (
    {scan}
) AS relaxed
ORDER BY distance + 0, chunk_id
LIMIT %(route_limit)s

-- name: known
-- The spellings of the question's words that the memory has.
known AS MATERIALIZED (
    SELECT granularity, lexeme, {document_frequency}::float8 AS document_frequency
    FROM memsense.lexemes
    WHERE tenant_id = %(tenant_id)s
      AND {in_scope}
      AND granularity = ANY (%(granularities)s::text[])
      AND lexeme = ANY (ARRAY(SELECT lexeme FROM {question}))
    {grouped}
)

-- name: known_of_all_users
GROUP BY granularity, lexeme

-- name: unknown
-- Words that the memory has in no spelling, with what one letter less, more or another one makes of them, and two
-- neighbours swapped: as patterns of LIKE, so that the letters may be of any script.
unknown AS MATERIALIZED (
    SELECT
        word, lexeme, length(lexeme) AS size,
        left(lexeme, (length(lexeme) + 1) / 2) AS beginning,
        right(lexeme, length(lexeme) / 2) AS ending,
        ARRAY(
            SELECT unnest(ARRAY[
                left(lexeme, i) || '_' || substr(lexeme, i + 1),
                left(lexeme, i) || '_' || substr(lexeme, i + 2),
                left(lexeme, i) || substr(lexeme, i + 2)])
            FROM generate_series(0, length(lexeme)) AS i
            WHERE length(lexeme) >= %(near_letters)s) AS misspelt,
        ARRAY(
            SELECT unnest(
                CASE WHEN length(lexeme) >= %(near_letters)s
                     THEN ARRAY[overlay(lexeme PLACING reverse(substr(lexeme, i, 2)) FROM i)] END
                || CASE WHEN i BETWEEN %(part_letters)s AND length(lexeme) - %(rest_letters)s
                        THEN ARRAY[left(lexeme, i), right(lexeme, i)] END)
            FROM generate_series(1, length(lexeme) - 1) AS i) AS others
    FROM {question}
    WHERE may_be_near
      AND length(lexeme) <= 40
      AND word NOT IN (SELECT asked.word FROM {question} AS asked JOIN known USING (lexeme))
    ORDER BY word
    LIMIT %(near_words)s
)

-- name: nearby
-- Lexemes of the memory that stand in for such words. Where one letter is wrong, the first or the last half is
-- right: each half is a range of an index, and the few others are looked up one by one. Each in a subquery of its
-- own, so that no plan reads the whole vocabulary, and none reads what another one has.
nearby AS MATERIALIZED (
    SELECT DISTINCT ON (granularity, lexeme) granularity, lexeme, word, share, document_frequency
    FROM (
        SELECT
            granularity, judged.lexeme, word, share, {document_frequency}::float8 AS document_frequency,
            row_number() OVER (
                PARTITION BY word, granularity
                ORDER BY share DESC, {document_frequency} DESC, judged.lexeme) AS place
        FROM unknown
        CROSS JOIN scope
        CROSS JOIN LATERAL (
            SELECT
                granularity, near.lexeme, document_frequency,
                CASE
                    WHEN starts_with(near.lexeme, unknown.lexeme)
                      OR right(near.lexeme, unknown.size) = unknown.lexeme
                      AND length(near.lexeme) >= unknown.size + %(rest_letters)s
                    THEN %(near_share)s::float8
                    WHEN near.lexeme = ANY (unknown.others) AND length(near.lexeme) = unknown.size THEN %(near_share)s
                    WHEN abs(length(near.lexeme) - unknown.size) <= 1 AND near.lexeme LIKE ANY (unknown.misspelt)
                    THEN %(near_share)s
                    WHEN near.lexeme = ANY (unknown.others) THEN %(part_share)s
                END AS share
            FROM (
                SELECT granularity, lexeme, document_frequency
                FROM memsense.lexemes
                WHERE tenant_id = %(tenant_id)s AND scope_id = scope.scope_id
                  AND granularity = ANY (%(granularities)s::text[])
                  AND lexeme >= unknown.beginning
                  AND lexeme < unknown.beginning || chr(1114111)
                UNION ALL
                SELECT granularity, lexeme, document_frequency
                FROM memsense.lexemes
                WHERE tenant_id = %(tenant_id)s AND scope_id = scope.scope_id
                  AND granularity = ANY (%(granularities)s::text[])
                  AND reverse(lexeme) >= reverse(unknown.ending)
                  AND reverse(lexeme) < reverse(unknown.ending) || chr(1114111)
                  AND NOT starts_with(lexeme, unknown.beginning)
                UNION ALL
                SELECT found.granularity, found.lexeme, found.document_frequency
                FROM unnest(unknown.others) AS other
                CROSS JOIN LATERAL (
                    SELECT granularity, lexeme, document_frequency
                    FROM memsense.lexemes
                    WHERE tenant_id = %(tenant_id)s AND scope_id = scope.scope_id
                      AND granularity = ANY (%(granularities)s::text[])
                      AND lexeme = other
                    OFFSET 0
                ) AS found
                WHERE NOT starts_with(other, unknown.beginning)
                  AND right(other, unknown.size / 2) <> unknown.ending
            ) AS near
            -- The planner would copy the cases to every step that reads the share.
            OFFSET 0
        ) AS judged
        WHERE share IS NOT NULL
          AND judged.lexeme <> ALL (ARRAY(SELECT lexeme FROM {question}))
        {grouped}
    ) AS placed
    WHERE place <= %(near_lexemes)s
    ORDER BY granularity, lexeme, share DESC, word
)

-- name: nearby_of_all_users
GROUP BY granularity, judged.lexeme, word, share

-- name: and_nearby
UNION ALL
SELECT lexeme, word, share, document_frequency FROM nearby WHERE nearby.granularity = statistics.granularity

-- name: terms
-- BM25F: the question's words with their idf, and the weights of a chunk's fields. memsense.lexemes compares bytes,
-- and the text index, which is asked for these words, has the collation of the database.
terms AS MATERIALIZED (
    SELECT
        statistics.granularity,
        asked.lexeme COLLATE "default" AS lexeme,
        asked.word,
        asked.share,
        asked.document_frequency,
        asked.share * ln(1 + (chunk_count - asked.document_frequency + 0.5) / (asked.document_frequency + 0.5)) AS idf,
        ('''' || replace(replace(asked.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query,
        1 - %(b)s::float8 AS base,
        %(b)s / user_average AS user_slope,
        %(b)s / assistant_average AS assistant_slope,
        %(b)s / tag_average AS tag_slope,
        %(b)s / context_average AS context_slope,
        %(weight_assistant)s * coalesce(assistant_weight, 1) AS assistant_weight,
        %(weight_context)s * coalesce(assistant_weight, 1) AS context_weight
    FROM statistics
    CROSS JOIN LATERAL (
        SELECT q.lexeme, q.word, 1::float8 AS share, coalesce(known.document_frequency, 0) AS document_frequency
        FROM {question} AS q
        LEFT JOIN known ON known.lexeme = q.lexeme AND known.granularity = statistics.granularity
        {and_nearby}
    ) AS asked
    WHERE statistics.granularity = ANY (%(granularities)s::text[])
      AND statistics.chunk_count > 0
)

-- name: drivers
-- The rarest words, within the budget: a chunk that holds none of them is not scored.
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
)

-- name: postings
-- A row for each word and chunk that holds it. The code says how often it is in which field:
-- ts_rank of one lexeme, turned back into counts (termcounts.sql).
postings AS (
    SELECT
        t.granularity, t.word, t.idf, t.query, t.base, t.user_slope, t.assistant_slope, t.tag_slope, t.context_slope,
        t.assistant_weight, t.context_weight,
        c.chunk_id, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length,
        width_bucket(ts_rank(memsense.field_weights(), c.tsv, t.query)::float8, memsense.count_cuts()) AS code
    FROM terms AS t
    CROSS JOIN LATERAL (
        SELECT chunk_id, tsv, user_length, assistant_length, tag_length, context_length
        FROM memsense.chunks
        WHERE tenant_id = %(tenant_id)s
          AND {in_scope}
          AND memsense.scope_lexemes(scope_id, tsv)
              && ARRAY(SELECT scope.scope_id || ':' || t.lexeme FROM scope)
          AND memsense.scope_lexemes(scope_id, tsv)
              && ARRAY(SELECT scope.scope_id || ':' || drivers.lexeme FROM scope CROSS JOIN drivers
                       WHERE drivers.lexeme = t.lexeme OR t.lexeme NOT IN (SELECT lexeme FROM drivers))
          AND granularity = t.granularity
        OFFSET 0
    ) AS c
    WHERE t.document_frequency > 0
      AND %(weight_lexical)s > 0
      AND {takes_part}
    OFFSET 0
)

-- name: postings_looked_up
-- The same where policies leave the text index to a function (lookups.sql).
postings AS (
    SELECT
        t.granularity, t.word, t.idf, t.query, t.base, t.user_slope, t.assistant_slope, t.tag_slope, t.context_slope,
        t.assistant_weight, t.context_weight,
        c.chunk_id, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length, c.code
    FROM memsense.find_postings(
        ARRAY(SELECT scope_id FROM scope),
        ARRAY(SELECT lexeme FROM terms WHERE document_frequency > 0 ORDER BY lexeme, granularity),
        ARRAY(SELECT granularity FROM terms WHERE document_frequency > 0 ORDER BY lexeme, granularity),
        ARRAY(SELECT lexeme FROM drivers)) AS c
    JOIN terms AS t ON t.lexeme = c.lexeme AND t.granularity = c.granularity
    WHERE %(weight_lexical)s > 0
      AND {takes_part}
    OFFSET 0
)

-- name: frequencies
-- The word's frequency in the chunk: each field's count by its weight and length. Where b is 1, an
-- empty field has length 0: the least divisor keeps its count of 0 from being divided by 0.
frequencies AS (
    SELECT
        chunk_id{and_granularity},
        word,
        idf,
        CASE WHEN code <= memsense.count_codes() THEN (memsense.counts_user())[code]
             ELSE width_bucket(ts_rank('{0,0,0,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * %(weight_user)s / greatest(base + user_slope * user_length, 1e-9)
        + CASE WHEN code <= memsense.count_codes() THEN (memsense.counts_assistant())[code]
               ELSE width_bucket(ts_rank('{0,0,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,0,0,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * assistant_weight / greatest(base + assistant_slope * assistant_length, 1e-9)
        + CASE WHEN code <= memsense.count_codes() THEN (memsense.counts_tags())[code]
               ELSE width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,0,1,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * %(weight_tag)s / greatest(base + tag_slope * tag_length, 1e-9)
        + CASE WHEN {is_bereft} THEN 0
               WHEN code <= memsense.count_codes() THEN (memsense.counts_context())[code]
               ELSE width_bucket(ts_rank('{1,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * context_weight / greatest(base + context_slope * context_length, 1e-9) AS tf
    FROM postings
    OFFSET 0
)

-- name: words
-- Of a word's spellings the best one counts. The order in which a plan adds moves the last bits of a sum:
-- rounded, ties stay ties.
words AS (
    SELECT chunk_id{and_granularity}, round(1e9 * (%(k1)s + 1) * sum(best)) / 1e9 AS score
    FROM (
        SELECT chunk_id{and_granularity}, word, max(idf * tf / (tf + %(k1)s)) AS best
        FROM frequencies
        WHERE tf > 0
        GROUP BY chunk_id{and_granularity}, word
    ) AS spelt
    GROUP BY chunk_id{and_granularity}
)

-- name: ceiling
-- The largest score that a chunk could have for the question: of each word the rarest spelling that the memory
-- has, else a word that nobody has. A near lexeme never comes up to that.
ceiling AS (
    SELECT granularity, round(1e9 * ((%(k1)s + 1) * sum(idf) + {of_identifiers})) / 1e9 AS ceiling
    FROM (
        SELECT granularity, word, coalesce(max(idf) FILTER (WHERE document_frequency > 0), max(idf)) AS idf
        FROM terms
        WHERE share = 1
        GROUP BY granularity, word
    ) AS spelt
    GROUP BY granularity
)

-- name: ceiling_of_identifiers
(SELECT %(identifier_boost)s * sum(w.idf) FROM identifier_weights AS w WHERE w.granularity = spelt.granularity)

-- name: words_by_ts_rank
-- The other way to score words: every one must match, and ts_rank_cd scores the chunk's own text.
words AS (
    SELECT c.chunk_id, c.granularity, ts_rank_cd(own.tsv, asked.query)::float8 AS score
    FROM memsense.chunks AS c
    CROSS JOIN (SELECT %(query)s::tsquery AS query) AS asked
    CROSS JOIN LATERAL (SELECT ts_filter(c.tsv, '{a,b,c}') AS tsv) AS own
    WHERE c.tenant_id = %(tenant_id)s
      AND c.{in_scope}
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope.scope_id || ':' || question.lexeme FROM scope CROSS JOIN question)
      AND c.granularity = ANY (%(granularities)s::text[])
      AND own.tsv @@ asked.query
      AND %(weight_lexical)s > 0
      AND {takes_part}
)

-- name: words_by_ts_rank_looked_up
words AS (
    SELECT c.chunk_id, c.granularity, c.score
    FROM memsense.find_ranked(
        ARRAY(SELECT scope_id FROM scope),
        ARRAY(SELECT lexeme FROM question),
        %(query)s::tsquery) AS c
    WHERE c.granularity = ANY (%(granularities)s::text[])
      AND %(weight_lexical)s > 0
      AND {takes_part}
)

-- name: identifiers
-- Identifiers in the question (tickets, versions, file names): a field of their own.
identifiers AS MATERIALIZED (
    SELECT identifier, position, ('''' || replace(replace(identifier, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM unnest(%(identifiers)s::text[]) WITH ORDINALITY AS asked (identifier, position)
)

-- name: identifier_matches
identifier_matches AS MATERIALIZED (
    SELECT c.chunk_id, c.granularity, i.position
    FROM memsense.chunks AS c
    JOIN identifiers AS i ON c.tsv @@ i.query
    WHERE c.tenant_id = %(tenant_id)s
      AND c.{in_scope}
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope.scope_id || ':' || identifiers.identifier FROM scope CROSS JOIN identifiers)
      AND {of_granularity}
)

-- name: identifier_matches_looked_up
identifier_matches AS MATERIALIZED (
    SELECT c.chunk_id, c.granularity, i.position
    FROM identifiers AS i
    CROSS JOIN LATERAL memsense.find_chunks(ARRAY(SELECT scope_id FROM scope), ARRAY[i.identifier]) AS c
    WHERE {of_granularity}
)

-- name: identifier_weights
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
)

-- name: identified
identified AS MATERIALIZED (
    SELECT
        m.chunk_id, m.granularity, round(1e9 * sum(w.idf)) / 1e9 AS score,
        sum(w.idf) / (SELECT sum(idf) FROM identifier_weights AS a WHERE a.granularity = m.granularity) AS share,
        array_agg(m.position ORDER BY m.position) AS positions
    FROM identifier_matches AS m
    JOIN identifier_weights AS w USING (granularity, position)
    WHERE {takes_part}
    GROUP BY m.chunk_id, m.granularity
)

-- name: matched
-- Every chunk that the question's words find.
matched AS MATERIALIZED (
    SELECT chunk_id{and_granularity}, score FROM words
)

-- name: matched_or_identified
matched AS MATERIALIZED (
    SELECT chunk_id{and_granularity}, sum(score) AS score
    FROM (
        SELECT chunk_id{and_granularity}, score FROM words
        UNION ALL
        SELECT chunk_id{and_granularity}, %(identifier_boost)s * score FROM identified WHERE %(weight_lexical)s > 0
    ) AS scored
    GROUP BY chunk_id{and_granularity}
)

-- name: lexical
lexical AS (
    SELECT
        {lists}
    FROM (
        SELECT chunk_id{and_granularity}, score
        FROM matched
        ORDER BY score DESC, chunk_id
        LIMIT %(route_limit)s
    ) AS best
)

-- name: routes
-- Fusion begins: every route's lists, with its number and its weight.
routes AS MATERIALIZED (
    {lists}
)

-- name: route_lists
SELECT {number} AS route, {lists}, {weight}::float8 AS weight FROM {name}

-- name: listed_turns
SELECT route, weight, turns AS chunk_ids, turn_scores AS scores FROM routes

-- name: listed_both
SELECT route, weight, turns AS chunk_ids, turn_scores AS scores FROM routes
UNION ALL
SELECT route, weight, sessions, session_scores FROM routes

-- name: ranked
-- Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009), with weights.
ranked AS (
    SELECT unnest(chunk_ids) AS chunk_id, weight / (%(rrf_k)s + generate_subscripts(chunk_ids, 1)) AS share
    FROM (
        {listed}
    ) AS listed
)

-- name: fused
{name} AS MATERIALIZED (
    SELECT chunk_id, round(1e12 * sum(share)) / 1e12 AS rrf_score
    FROM ranked
    GROUP BY chunk_id
    ORDER BY rrf_score DESC, chunk_id
    LIMIT %(candidate_limit)s
)

-- name: scored
-- The same in two steps, where chunks beyond the limit may take part.
scored AS MATERIALIZED (
    SELECT chunk_id, round(1e12 * sum(share)) / 1e12 AS rrf_score
    FROM ranked
    GROUP BY chunk_id
)

-- name: best_scored
{name} AS MATERIALIZED (
    SELECT chunk_id, rrf_score
    FROM scored
    ORDER BY rrf_score DESC, chunk_id
    LIMIT %(candidate_limit)s
)

-- name: unfound
-- Sessions of which fusion kept turns alone.
unfound AS MATERIALIZED (
    SELECT scope_id, session_id
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s
      AND {in_scope}
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM best))
    GROUP BY scope_id, session_id
    HAVING bool_and(granularity = 'turn')
)

-- name: first_chunks
first_chunks AS MATERIALIZED (
    SELECT DISTINCT ON (c.scope_id, c.session_id) c.chunk_id
    FROM unfound
    JOIN memsense.chunks AS c ON c.scope_id = unfound.scope_id AND c.session_id = unfound.session_id
    WHERE c.tenant_id = %(tenant_id)s
      AND c.granularity = 'session'
      AND c.tsv IS NOT NULL
      AND {takes_part}
    ORDER BY c.scope_id, c.session_id, c.ordinal, c.part
)

-- name: fused_with_sessions
-- These sessions take part with their first session chunk, which no route found: at a score of 0.
{name} AS MATERIALIZED (
    SELECT chunk_id, rrf_score FROM best
    UNION ALL
    (SELECT chunk_id, 0::float8 FROM first_chunks ORDER BY chunk_id)
)

-- name: superseding
-- What superseded the candidates, or is superseded by them. In the past, where one of them may not have been there yet, both must be candidates.
superseding AS MATERIALIZED (
    SELECT l.older_id, l.chunk_id, l.strength, l.reason, l.state
    FROM memsense.supersessions AS l
    WHERE l.tenant_id = %(tenant_id)s
      AND l.{in_scope}
      AND (l.older_id = ANY (ARRAY(SELECT chunk_id FROM found)) {either_or} l.chunk_id = ANY (ARRAY(SELECT chunk_id FROM found)))
      AND {older_takes_part}
      AND {newer_takes_part}
)

-- name: fused_with_superseding
-- These exchanges take part, too: at a score of 0 if no route found them.
fused AS MATERIALIZED (
    SELECT chunk_id, rrf_score FROM found
    UNION ALL
    (SELECT linked.chunk_id, coalesce(scored.rrf_score, 0)
     FROM (
         SELECT older_id AS chunk_id FROM superseding WHERE state <> 'rejected'
         UNION SELECT chunk_id FROM superseding WHERE state <> 'rejected'
     ) AS linked
     LEFT JOIN scored ON scored.chunk_id = linked.chunk_id
     WHERE linked.chunk_id NOT IN (SELECT chunk_id FROM found)
     ORDER BY scored.rrf_score DESC NULLS LAST, linked.chunk_id)
)

-- name: hits
hits AS (
    SELECT
        array_agg(route) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_routes,
        array_agg(cardinality(chunk_ids)) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_counts,
        string_agg(array_send(chunk_ids), '') AS hit_chunk_ids,
        string_agg(array_send(scores), '') AS hit_scores
    FROM (
        {listed}
    ) AS listed
)

-- name: candidates
-- Everything that ranking needs of the candidates. The one row of the result holds an array per column, in
-- the candidates' order: decoding one array is far cheaper than decoding a value of every row.
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
        array_agg(occurred_zone_known) AS zones_known,
        array_agg(user_speaker) AS user_speakers,
        array_agg(assistant_speaker) AS assistant_speakers,
        jsonb_object_agg(chunk_id, array_append(tags, task_tag)) FILTER (WHERE tags <> '{}' OR task_tag IS NOT NULL) AS tags,
        {worded} AS worded,
        {identified} AS identified
    FROM {chunks}
    WHERE tenant_id = %(tenant_id)s
      AND {in_scope}
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
)

-- name: worded_payload
jsonb_object_agg(chunk_id, worded) FILTER (WHERE worded <> '{}')

-- name: join_worded
CROSS JOIN LATERAL (
    SELECT array_agg(w.position) AS worded
    FROM unnest(%(wordings)s::text[]) WITH ORDINALITY AS w (pattern, position)
    WHERE concat_ws(E'\x1e', session_text, user_text, assistant_text) ~* w.pattern
) AS held

-- name: identified_payload
jsonb_object_agg(chunk_id, jsonb_build_array(share, positions)) FILTER (WHERE share > 0)

-- name: join_identified
LEFT JOIN (SELECT chunk_id, share, positions FROM identified) AS named USING (chunk_id)

-- name: vectors
{prefix}vectors AS (
    SELECT array_agg(chunk_id) AS {prefix}embedded, string_agg(halfvec_send(embedding), '') AS {prefix}embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND {in_scope}
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND model_id = {model}
      AND route = 'full'{and_answers}
)

-- name: tokens
-- The tokens of the best candidates so far: stored out of line, and read for these alone. In the order of
-- their chunks: products of matrices differ in their last bits by the place of a row.
tokens AS (
    SELECT
        array_agg(chunk_id) AS tokened,
        array_agg(user_pieces::integer) AS user_counts,
        array_agg(length(pieces) / 2) AS token_counts,
        string_agg(pieces, '') AS pieces,
        string_agg(signs, '') AS signs
    FROM (
        SELECT chunk_id, user_pieces, pieces, signs
        FROM memsense.token_vectors
        WHERE tenant_id = %(tenant_id)s
          AND {in_scope}
          AND chunk_id = ANY (ARRAY(
              SELECT chunk_id FROM fused{compared} ORDER BY rrf_score DESC, chunk_id LIMIT %(token_limit)s))
          AND model_id = %(model_id)s
        ORDER BY chunk_id
    ) AS stored
)

-- name: state
state AS (
    SELECT jsonb_build_object(
        {facts}
    ) AS state
)

-- name: facts
'scopes', (SELECT count(*) FROM scope),
'recalled_at', statement_timestamp(),
'model_id', (SELECT max(model_id) FROM scope),
'settings_version', (SELECT max(settings_version) FROM scope),
'counts', (SELECT jsonb_object_agg(granularity, chunk_count) FROM statistics),
'languages', {languages},
'lexemes_version', (SELECT min(lexemes_version) FROM scope),
'question', (SELECT jsonb_agg(DISTINCT lexeme ORDER BY lexeme) FROM {asked}),
'matches', (SELECT count(*) FROM matched),
'waiting', EXISTS (
    SELECT FROM memsense.jobs
    WHERE tenant_id = %(tenant_id)s AND {in_scope} AND kind = 'embed'
      AND coalesce(model_id = %(model_id)s, true))

-- name: languages_of_one_user
(SELECT languages FROM scope)

-- name: languages_of_all_users
(SELECT jsonb_object_agg(language, chunks)
 FROM (
     SELECT language, sum(chunks::integer) AS chunks
     FROM scope
     CROSS JOIN LATERAL jsonb_each_text(languages) AS counted (language, chunks)
     GROUP BY language
 ) AS counted)

-- name: fact_lapsed
-- Whether this statement leaves anything out as expired.
'lapsed', (SELECT NOT are_all FROM spared)

-- name: fact_lapsed_unasked
-- The same in a statement that assumes that nothing has expired: if it has, the search is run again.
'lapsed', EXISTS (
    SELECT FROM memsense.chunks WHERE tenant_id = %(tenant_id)s AND {in_scope} AND expires_at <= now())

-- name: facts_of_one_user
'speakers', (SELECT speakers FROM scope),
'introduced', (
    SELECT jsonb_agg(name) FROM memsense.mentions WHERE tenant_id = %(tenant_id)s AND {in_scope} AND kind = 'self'),
'indexed', (SELECT indexed FROM scope)

-- name: asked
{question}

-- name: asked_or_near
(SELECT lexeme FROM {question} UNION ALL SELECT lexeme FROM nearby) AS asked

-- name: fact_left_out
-- The words of a long question that are not searched for.
'left_out', (SELECT jsonb_agg(lexeme ORDER BY lexeme) FROM question WHERE lexeme NOT IN (SELECT lexeme FROM rarest))

-- name: fact_ceiling
'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling)

-- name: fact_superseding
'superseding', (SELECT jsonb_agg(jsonb_build_array(older_id, chunk_id, strength, reason, state) ORDER BY chunk_id, older_id) FROM superseding)

-- name: fact_stale
-- Whether session chunks wait to be made of their exchanges.
'stale', EXISTS (
    SELECT FROM memsense.stale_sessions
    WHERE tenant_id = %(tenant_id)s AND {in_scope})

-- name: answer
SELECT
    state, chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids, scope_ids, granularities,
    session_ids, ordinals, parts, memory_scores, times, zones_known, user_speakers, assistant_speakers, tags, worded, identified,
    embedded, embeddings{others}{tokens}
FROM state
CROSS JOIN candidates
CROSS JOIN vectors{and_others}
CROSS JOIN hits{and_tokens}

-- name: token_columns
tokened, user_counts, token_counts, pieces, signs
