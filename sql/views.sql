-- The debugging views, in creation order; every migration creates them anew.
-- Each shows all tenants: filter by tenant, namespace and user_id.

CREATE VIEW memsense.recall_routes AS
SELECT
    t.name AS tenant, n.name AS namespace, s.user_id, c.tenant_id, c.scope_id, c.chunk_id, c.granularity,
    c.session_id, c.ordinal, c.part, found.route, m.name AS model
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = c.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = c.tenant_id
JOIN (
    SELECT
        tenant_id, scope_id, chunk_id, model_id,
        CASE
            WHEN route IN ('full', 'user', 'assistant') THEN 'vec_' || route
            ELSE 'facet_' || route
        END AS route
    FROM memsense.embeddings
    UNION ALL
    SELECT tenant_id, scope_id, previous_chunk_id, model_id, 'vec_next_user'
    FROM memsense.embeddings_user
    WHERE previous_chunk_id IS NOT NULL
    UNION ALL
    SELECT tenant_id, scope_id, chunk_id, NULL, 'lexical'
    FROM memsense.chunks
    WHERE length(ts_filter(tsv, '{a,b,c}')) > 0
    UNION ALL
    SELECT DISTINCT tenant_id, scope_id, chunk_id, NULL::integer, 'graph'
    FROM memsense.mentions
    UNION ALL
    SELECT tenant_id, scope_id, chunk_id, NULL, 'time'
    FROM memsense.chunks
    WHERE occurred_at IS NOT NULL AND granularity = 'turn' AND tsv IS NOT NULL
) AS found ON found.tenant_id = c.tenant_id AND found.scope_id = c.scope_id AND found.chunk_id = c.chunk_id
LEFT JOIN memsense.models AS m ON m.model_id = found.model_id
WHERE (found.model_id IS NULL OR found.model_id = n.model_id)
  AND (c.expires_at IS NULL OR c.expires_at > now());

COMMENT ON VIEW memsense.recall_routes IS 'The recall routes that can find each chunk: one row per pair.';
COMMENT ON COLUMN memsense.recall_routes.tenant IS 'Name of the tenant that owns the chunk.';
COMMENT ON COLUMN memsense.recall_routes.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.recall_routes.user_id IS 'The user whose memory has the chunk.';
COMMENT ON COLUMN memsense.recall_routes.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.recall_routes.scope_id IS 'Number of the scope: tenant, namespace and user.';
COMMENT ON COLUMN memsense.recall_routes.chunk_id IS 'The chunk.';
COMMENT ON COLUMN memsense.recall_routes.granularity IS 'turn or session.';
COMMENT ON COLUMN memsense.recall_routes.session_id IS 'Session the chunk belongs to.';
COMMENT ON COLUMN memsense.recall_routes.ordinal IS 'Place of the chunk''s (first) exchange in its session, from 0.';
COMMENT ON COLUMN memsense.recall_routes.part IS 'Piece of a long exchange, from 0.';
COMMENT ON COLUMN memsense.recall_routes.route IS 'Route as profiles name it: vec_*, facet_*, lexical, graph or time.';
COMMENT ON COLUMN memsense.recall_routes.model IS 'Embedding model of the route''s vector; null for lexical, graph and time.';

CREATE VIEW memsense.chunk_overview AS
SELECT
    t.name AS tenant, n.name AS namespace, s.user_id, c.agent_id, c.session_id, c.granularity, c.ordinal,
    c.last_ordinal, c.part, c.part_count, c.chunk_id, c.status, c.memory_kind, c.memory_score, c.confidence,
    CASE
        WHEN c.granularity = 'session' THEN c.session_text
        ELSE concat_ws(
            E'\n',
            coalesce(c.user_speaker, 'user') || ': ' || nullif(c.user_text, ''),
            coalesce(c.assistant_speaker, 'assistant') || ': ' || nullif(c.assistant_text, '')
        )
    END AS content,
    c.task_tag, c.tags, c.personal_info, c.preferences, c.events,
    beside.previous_chunk_id, beside.next_chunk_id, c.next_user_text, c.context,
    c.occurred_at, c.recorded_at, c.expires_at, c.message_ids, c.source, c.project, c.metadata, c.tenant_id, c.scope_id
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = c.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = c.tenant_id
LEFT JOIN (
    SELECT
        tenant_id, scope_id, chunk_id,
        lag(chunk_id) OVER session AS previous_chunk_id,
        lead(chunk_id) OVER session AS next_chunk_id
    FROM memsense.chunks
    WHERE status = 'active'
    WINDOW session AS (PARTITION BY tenant_id, scope_id, session_id, granularity ORDER BY ordinal, part)
) AS beside ON beside.tenant_id = c.tenant_id AND beside.scope_id = c.scope_id AND beside.chunk_id = c.chunk_id;

COMMENT ON VIEW memsense.chunk_overview IS 'Every chunk of any status, readable: names for numbers, its text, its neighbours.';
COMMENT ON COLUMN memsense.chunk_overview.tenant IS 'Name of the tenant that owns the chunk.';
COMMENT ON COLUMN memsense.chunk_overview.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.chunk_overview.user_id IS 'The user whose memory has the chunk.';
COMMENT ON COLUMN memsense.chunk_overview.agent_id IS 'Agent that took part, if known.';
COMMENT ON COLUMN memsense.chunk_overview.session_id IS 'Session the chunk belongs to.';
COMMENT ON COLUMN memsense.chunk_overview.granularity IS 'turn (one exchange or a piece of it) or session (a stretch of a session).';
COMMENT ON COLUMN memsense.chunk_overview.ordinal IS 'Place of the chunk''s (first) exchange in its session, from 0.';
COMMENT ON COLUMN memsense.chunk_overview.last_ordinal IS 'Place of the last exchange that a session chunk covers; the ordinal itself for turns.';
COMMENT ON COLUMN memsense.chunk_overview.part IS 'Piece of a long exchange, from 0.';
COMMENT ON COLUMN memsense.chunk_overview.part_count IS 'How many pieces the exchange has.';
COMMENT ON COLUMN memsense.chunk_overview.chunk_id IS 'The chunk.';
COMMENT ON COLUMN memsense.chunk_overview.status IS 'active, archived or deleted; only active chunks are searched.';
COMMENT ON COLUMN memsense.chunk_overview.memory_kind IS 'stable, preference, episodic or ephemeral.';
COMMENT ON COLUMN memsense.chunk_overview.memory_score IS '0 to 1, at first 0.5; promote and demote change it.';
COMMENT ON COLUMN memsense.chunk_overview.confidence IS '0 to 1, as the caller gave it; stored, not scored.';
COMMENT ON COLUMN memsense.chunk_overview.content IS 'The text, each side under its speaker''s name.';
COMMENT ON COLUMN memsense.chunk_overview.task_tag IS 'The caller''s name for the task, searched with the text.';
COMMENT ON COLUMN memsense.chunk_overview.tags IS 'The caller''s tags, searched with the text.';
COMMENT ON COLUMN memsense.chunk_overview.personal_info IS 'Facet: what the chunk says about the person.';
COMMENT ON COLUMN memsense.chunk_overview.preferences IS 'Facet: what the chunk says about likes and dislikes.';
COMMENT ON COLUMN memsense.chunk_overview.events IS 'Facet: what the chunk says about events.';
COMMENT ON COLUMN memsense.chunk_overview.previous_chunk_id IS 'The active chunk before this one in its session, same granularity.';
COMMENT ON COLUMN memsense.chunk_overview.next_chunk_id IS 'The active chunk after this one in its session, same granularity.';
COMMENT ON COLUMN memsense.chunk_overview.next_user_text IS 'The user''s next text in the session, once there is one.';
COMMENT ON COLUMN memsense.chunk_overview.context IS 'The text around the chunk in its session, a weak field of the lexical route.';
COMMENT ON COLUMN memsense.chunk_overview.occurred_at IS 'When it was said; null if the log does not say.';
COMMENT ON COLUMN memsense.chunk_overview.recorded_at IS 'When it was stored.';
COMMENT ON COLUMN memsense.chunk_overview.expires_at IS 'When it expires: from then on only this view shows it. Null: never.';
COMMENT ON COLUMN memsense.chunk_overview.message_ids IS 'The log''s own ids of the messages in the chunk.';
COMMENT ON COLUMN memsense.chunk_overview.source IS 'Where it came from: format and file, or the API.';
COMMENT ON COLUMN memsense.chunk_overview.project IS 'Repository''s address, folder or name that it was about, if known.';
COMMENT ON COLUMN memsense.chunk_overview.metadata IS 'Free fields of the log or the caller.';
COMMENT ON COLUMN memsense.chunk_overview.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.chunk_overview.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.session_timeline AS
SELECT
    t.name AS tenant, n.name AS namespace, s.user_id, c.session_id,
    min(c.occurred_at) FILTER (WHERE c.status = 'active') AS first_at,
    max(c.occurred_at) FILTER (WHERE c.status = 'active') AS last_at,
    count(*) FILTER (WHERE c.status = 'active' AND c.granularity = 'turn') AS turns,
    count(*) FILTER (WHERE c.status = 'active' AND c.granularity = 'session') AS session_chunks,
    count(*) FILTER (WHERE c.status <> 'active') AS inactive,
    coalesce(sum(length(c.user_text) - c.opening_length + length(c.assistant_text))
        FILTER (WHERE c.status = 'active' AND c.granularity = 'turn'), 0) AS turn_characters,
    count(*) FILTER (WHERE c.expires_at > now() AND c.status = 'active') AS expiring,
    count(*) FILTER (WHERE c.expires_at <= now()) AS expired,
    (array_agg(c.user_text ORDER BY c.ordinal, c.part)
        FILTER (WHERE c.status = 'active' AND coalesce(c.expires_at > now(), true) AND c.user_text <> ''))[1] AS opening,
    c.tenant_id, c.scope_id
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = c.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = c.tenant_id
GROUP BY t.name, n.name, s.user_id, c.tenant_id, c.scope_id, c.session_id;

COMMENT ON VIEW memsense.session_timeline IS 'One row per session: its times, and how much of it is stored.';
COMMENT ON COLUMN memsense.session_timeline.tenant IS 'Name of the tenant that owns the session.';
COMMENT ON COLUMN memsense.session_timeline.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.session_timeline.user_id IS 'The user whose memory has the session.';
COMMENT ON COLUMN memsense.session_timeline.session_id IS 'The session.';
COMMENT ON COLUMN memsense.session_timeline.first_at IS 'Earliest event time of its active chunks.';
COMMENT ON COLUMN memsense.session_timeline.last_at IS 'Latest event time of its active chunks.';
COMMENT ON COLUMN memsense.session_timeline.turns IS 'Active turn chunks.';
COMMENT ON COLUMN memsense.session_timeline.session_chunks IS 'Active session chunks.';
COMMENT ON COLUMN memsense.session_timeline.inactive IS 'Archived and deleted chunks of either granularity.';
COMMENT ON COLUMN memsense.session_timeline.expiring IS 'Active chunks with an expiry date.';
COMMENT ON COLUMN memsense.session_timeline.expired IS 'Chunks that have expired and are not swept yet; nothing shows them.';
COMMENT ON COLUMN memsense.session_timeline.turn_characters IS 'Characters of both sides of the active turns.';
COMMENT ON COLUMN memsense.session_timeline.opening IS 'The first user text of its active turns that have not expired.';
COMMENT ON COLUMN memsense.session_timeline.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.session_timeline.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.route_coverage AS
SELECT
    t.name AS tenant, n.name AS namespace, s.user_id, active.granularity, route.route, active.chunks,
    count(r.chunk_id) AS chunks_with_route,
    round(count(r.chunk_id)::numeric / active.chunks, 4) AS share,
    active.tenant_id, active.scope_id
FROM (
    SELECT tenant_id, scope_id, granularity, count(*) AS chunks
    FROM memsense.chunks
    WHERE status = 'active'
    GROUP BY tenant_id, scope_id, granularity
) AS active
CROSS JOIN unnest(ARRAY[
    'vec_full', 'vec_user', 'vec_assistant', 'vec_next_user', 'lexical',
    'facet_personal_info', 'facet_preferences', 'facet_events', 'graph', 'time'
]) AS route (route)
JOIN memsense.scopes AS s ON s.tenant_id = active.tenant_id AND s.scope_id = active.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = active.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = active.tenant_id
LEFT JOIN memsense.recall_routes AS r
  ON r.tenant_id = active.tenant_id AND r.scope_id = active.scope_id
 AND r.granularity = active.granularity AND r.route = route.route
GROUP BY t.name, n.name, s.user_id, active.tenant_id, active.scope_id, active.granularity, active.chunks, route.route;

COMMENT ON VIEW memsense.route_coverage IS 'The share of each memory that each recall route can find.';
COMMENT ON COLUMN memsense.route_coverage.tenant IS 'Name of the tenant that owns the memory.';
COMMENT ON COLUMN memsense.route_coverage.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.route_coverage.user_id IS 'The user whose memory it is.';
COMMENT ON COLUMN memsense.route_coverage.granularity IS 'turn or session; session chunks have the routes vec_full and lexical only.';
COMMENT ON COLUMN memsense.route_coverage.route IS 'Route as profiles name it: vec_*, facet_*, lexical, graph or time.';
COMMENT ON COLUMN memsense.route_coverage.chunks IS 'Active chunks of this granularity.';
COMMENT ON COLUMN memsense.route_coverage.chunks_with_route IS 'Those of them that the route can find.';
COMMENT ON COLUMN memsense.route_coverage.share IS 'chunks_with_route / chunks, rounded to four places.';
COMMENT ON COLUMN memsense.route_coverage.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.route_coverage.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.pending_embeddings AS
SELECT
    t.name AS tenant, n.name AS namespace, s.user_id, c.session_id, c.chunk_id, c.granularity, wanted.route,
    wanted.text, m.name AS model, m.model_id = n.model_id AS is_current, c.recorded_at, c.tenant_id, c.scope_id,
    m.model_id
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = c.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = c.tenant_id
LEFT JOIN memsense.models AS m
  ON m.model_id = n.model_id
  OR EXISTS (
      SELECT FROM memsense.namespace_models AS k
      WHERE k.tenant_id = n.tenant_id AND k.namespace_id = n.namespace_id AND k.model_id = m.model_id
        AND k.state = 'kept')
CROSS JOIN LATERAL (
    VALUES
        -- No concat_ws: on Citus only immutable functions may stand here.
        ('full', coalesce(nullif(c.session_text, ''),
            nullif(c.user_text, '') || E'\n' || nullif(c.assistant_text, ''), nullif(c.user_text, ''), c.assistant_text)),
        ('user', substr(c.user_text, c.opening_length + 1)),
        ('assistant', c.assistant_text),
        ('personal_info', c.personal_info),
        ('preferences', c.preferences),
        ('events', c.events)
) AS wanted (route, text)
LEFT JOIN memsense.embeddings AS e
  ON e.tenant_id = c.tenant_id AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id AND e.route = wanted.route
 AND e.model_id = m.model_id
WHERE c.status = 'active' AND wanted.text ~ '\S' AND e.chunk_id IS NULL
  AND array_position(c.unknown_to, m.model_id) IS NULL;

COMMENT ON VIEW memsense.pending_embeddings IS 'Active chunks that lack a vector of one of their texts, though the model knows it: a job will make it (memsense jobs list), or something went wrong.';
COMMENT ON COLUMN memsense.pending_embeddings.tenant IS 'Name of the tenant that owns the chunk.';
COMMENT ON COLUMN memsense.pending_embeddings.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.pending_embeddings.user_id IS 'The user whose memory has the chunk.';
COMMENT ON COLUMN memsense.pending_embeddings.session_id IS 'Session the chunk belongs to.';
COMMENT ON COLUMN memsense.pending_embeddings.chunk_id IS 'The chunk.';
COMMENT ON COLUMN memsense.pending_embeddings.granularity IS 'turn or session.';
COMMENT ON COLUMN memsense.pending_embeddings.route IS 'Partition of embeddings that lacks the vector.';
COMMENT ON COLUMN memsense.pending_embeddings.text IS 'The text to embed.';
COMMENT ON COLUMN memsense.pending_embeddings.model IS 'The embedding model whose vector is missing; null before the first model.';
COMMENT ON COLUMN memsense.pending_embeddings.is_current IS 'True for the model that the namespace is searched with.';
COMMENT ON COLUMN memsense.pending_embeddings.model_id IS 'Number of the model.';
COMMENT ON COLUMN memsense.pending_embeddings.recorded_at IS 'When the chunk was stored.';
COMMENT ON COLUMN memsense.pending_embeddings.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.pending_embeddings.scope_id IS 'Number of the scope: tenant, namespace and user.';

-- Second part: views of recorded searches, and of the data that searches rely on.

CREATE VIEW memsense.trace_candidates AS
SELECT
    p.tenant_id, p.trace_id, one.position::integer, one.scope_id, one.chunk_id,
    CASE WHEN one.is_session THEN 'session' ELSE 'turn' END AS granularity,
    found.routes, found.ranks, found.scores, found.weights, found.contributions, found.rrf_score, one.memory_score,
    CASE WHEN one.own_routes THEN found.rrf_score ELSE 0 END AS base_score,
    coalesce(support.turn_support, 0) AS turn_support,
    coalesce(added.terms, '{}') AS terms,
    support.session, one.final_score, nullif(one.score_rank, 0) AS score_rank,
    nullif(one.relevance, 'NaN') AS relevance,
    nullif(one.redundancy, 'NaN') AS redundancy,
    CASE WHEN one.score_rank > 0 THEN nullif(one.rival, 0) END AS redundant_to,
    nullif(p.mmr_lambda * one.relevance - (1 - p.mmr_lambda) * one.redundancy, 'NaN') AS mmr_score,
    nullif(one.hit_rank, 0) AS hit_rank,
    CASE WHEN one.hit_rank > 0 THEN nullif(p.shown_chunk_ids[one.hit_rank], 0) END AS shown_chunk_id,
    (ARRAY['duplicate', 'mmr', 'session', 'limit', 'part', 'outranked', 'below_min_score'])[nullif(one.step, 0)] AS dropped_by,
    CASE WHEN one.step IN (1, 3, 5) THEN one.rival END AS lost_to
FROM memsense.packed_candidates AS p
CROSS JOIN LATERAL unnest(
    p.scope_ids, p.chunk_ids, p.are_sessions, p.memory_scores, p.own_routes, p.final_scores, p.score_ranks,
    p.relevances, p.redundancies, p.rivals, p.steps, p.hit_ranks
) WITH ORDINALITY AS one (
    scope_id, chunk_id, is_session, memory_score, own_routes, final_score, score_rank, relevance, redundancy, rival,
    step, hit_rank, position
)
LEFT JOIN LATERAL (
    SELECT
        position,
        array_agg(route ORDER BY number) AS routes,
        array_agg(rank ORDER BY number) AS ranks,
        array_agg(score ORDER BY number) AS scores,
        array_agg(weight ORDER BY number) AS weights,
        array_agg(contribution ORDER BY number) AS contributions,
        sum(contribution ORDER BY number) AS rrf_score
    FROM (
        SELECT
            (cell.place - 1) / cardinality(p.routes) + 1 AS position,
            route.number, route.name AS route, cell.rank, cell.score, route.weight,
            p.rrf_weight * route.weight / (p.rrf_k + cell.rank) AS contribution
        FROM unnest(p.ranks, p.scores) WITH ORDINALITY AS cell (rank, score, place)
        JOIN unnest(p.routes, p.weights) WITH ORDINALITY AS route (name, weight, number)
          ON route.number = (cell.place - 1) % cardinality(p.routes) + 1
        WHERE cell.rank > 0
    ) AS hit
    GROUP BY position
) AS found ON found.position = one.position
LEFT JOIN LATERAL (
    SELECT
        (cell.place - 1) / cardinality(p.terms) + 1 AS position,
        jsonb_object_agg(p.terms[(cell.place - 1) % cardinality(p.terms) + 1], cell.share) AS terms
    FROM unnest(p.term_shares) WITH ORDINALITY AS cell (share, place)
    WHERE cell.share <> 'NaN'
    GROUP BY 1
) AS added ON added.position = one.position
LEFT JOIN LATERAL (
    SELECT DISTINCT ON (entry.position)
        entry.position, entry.turn_support,
        jsonb_build_object(
            'session_rrf_score', entry.session_rrf_score, 'turn_support', entry.turn_support,
            'supporting_turn_count', entry.supporting_turn_count, 'best_turn', nullif(entry.best_turn, 0),
            'best_turn_rrf_score', entry.best_turn_rrf_score
        ) AS session
    FROM unnest(
        p.supported, p.session_rrf_scores, p.turn_supports, p.supporting_turns, p.best_turns, p.best_turn_rrf_scores
    ) AS entry (position, session_rrf_score, turn_support, supporting_turn_count, best_turn, best_turn_rrf_score)
) AS support ON support.position = one.position;

COMMENT ON VIEW memsense.trace_candidates IS 'Every candidate of a recorded search, chosen or not: its routes, every later step, and the step that dropped it. recall_candidates shows it with the question.';
COMMENT ON COLUMN memsense.trace_candidates.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.trace_candidates.trace_id IS 'The recorded search.';
COMMENT ON COLUMN memsense.trace_candidates.position IS 'Place after fusion, from 1.';
COMMENT ON COLUMN memsense.trace_candidates.scope_id IS 'Number of the scope: tenant, namespace and user.';
COMMENT ON COLUMN memsense.trace_candidates.chunk_id IS 'The candidate.';
COMMENT ON COLUMN memsense.trace_candidates.granularity IS 'turn or session.';
COMMENT ON COLUMN memsense.trace_candidates.routes IS 'The routes that found it.';
COMMENT ON COLUMN memsense.trace_candidates.ranks IS 'Its rank in each of them, from 1.';
COMMENT ON COLUMN memsense.trace_candidates.scores IS 'Its raw score in each of them.';
COMMENT ON COLUMN memsense.trace_candidates.weights IS 'The weight of each of them, as it was in force.';
COMMENT ON COLUMN memsense.trace_candidates.contributions IS 'The contribution of each of them: rrf_weight * weight / (rrf_k + rank).';
COMMENT ON COLUMN memsense.trace_candidates.rrf_score IS 'The sum of the contributions.';
COMMENT ON COLUMN memsense.trace_candidates.memory_score IS 'Its memory score, 0 to 1, when it was found.';
COMMENT ON COLUMN memsense.trace_candidates.base_score IS 'The part of rrf_score that counts in final_score: all of it, or 0 for a turn that only supports its session.';
COMMENT ON COLUMN memsense.trace_candidates.turn_support IS 'The score that the other chunks of its session added.';
COMMENT ON COLUMN memsense.trace_candidates.terms IS 'The other terms of the score, by name: memory_score, date.';
COMMENT ON COLUMN memsense.trace_candidates.session IS 'For a chunk that stands for its session, the chunks that support it; null for others.';
COMMENT ON COLUMN memsense.trace_candidates.final_score IS 'Its score before MMR: base_score, turn_support and the terms.';
COMMENT ON COLUMN memsense.trace_candidates.score_rank IS 'Place by final_score among the candidates of MMR; null if another chunk stood for its session or exchange.';
COMMENT ON COLUMN memsense.trace_candidates.relevance IS 'Its relevance in MMR.';
COMMENT ON COLUMN memsense.trace_candidates.redundancy IS 'Its largest similarity to a hit: when it was chosen, or when the last hit was chosen instead.';
COMMENT ON COLUMN memsense.trace_candidates.redundant_to IS 'The hit with that similarity.';
COMMENT ON COLUMN memsense.trace_candidates.mmr_score IS 'lambda * relevance - (1 - lambda) * redundancy, at that moment.';
COMMENT ON COLUMN memsense.trace_candidates.hit_rank IS 'Place in the answer, from 1; null if it was dropped.';
COMMENT ON COLUMN memsense.trace_candidates.shown_chunk_id IS 'The chunk that was shown for it: itself, or the session chunk around it.';
COMMENT ON COLUMN memsense.trace_candidates.dropped_by IS 'duplicate: too close to a hit; mmr: near enough to hits for others to pass; outranked: by score; session, part: another chunk stood for its session or exchange; limit: max_per_session or min_sessions barred its session; below_min_score: its score was less than the search asked for. Null for hits.';
COMMENT ON COLUMN memsense.trace_candidates.lost_to IS 'The hit it duplicates, or the chunk that stood for its session or exchange.';

CREATE VIEW memsense.recall_explain AS
SELECT
    n.name AS tenant, t.namespace, t.user_id, t.trace_id, t.recorded_at, t.question, t.profile_name, c.hit_rank,
    c.chunk_id, c.shown_chunk_id, c.granularity, found.route, found.rank AS route_rank, found.score AS raw_score,
    found.weight, CASE WHEN c.base_score = 0 THEN 0 ELSE found.contribution END AS contribution,
    CASE WHEN c.base_score = 0 THEN 0 ELSE found.contribution END / nullif(c.final_score, 0) AS share,
    c.turn_support,
    coalesce((SELECT sum(value::float8) FROM jsonb_each_text(c.terms)), 0) AS term_sum,
    c.final_score, t.tenant_id
FROM memsense.traces AS t
JOIN memsense.tenants AS n ON n.tenant_id = t.tenant_id
JOIN memsense.trace_candidates AS c ON c.tenant_id = t.tenant_id AND c.trace_id = t.trace_id
CROSS JOIN LATERAL unnest(c.routes, c.ranks, c.scores, c.weights, c.contributions)
    AS found (route, rank, score, weight, contribution)
WHERE c.hit_rank IS NOT NULL;

COMMENT ON VIEW memsense.recall_explain IS 'Why each hit of a recorded search was returned: one row per trace, hit and route. Of one hit, the contributions and turn_support and term_sum add up to final_score.';
COMMENT ON COLUMN memsense.recall_explain.tenant IS 'Name of the tenant that was searched.';
COMMENT ON COLUMN memsense.recall_explain.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.recall_explain.user_id IS 'The user whose memory was searched; null for a search of all users.';
COMMENT ON COLUMN memsense.recall_explain.trace_id IS 'The recorded search.';
COMMENT ON COLUMN memsense.recall_explain.recorded_at IS 'When the search was recorded.';
COMMENT ON COLUMN memsense.recall_explain.question IS 'The question.';
COMMENT ON COLUMN memsense.recall_explain.profile_name IS 'The profile that ranked; its constants are in traces.profile, and how far those for requests counted in traces.request_share.';
COMMENT ON COLUMN memsense.recall_explain.hit_rank IS 'Place of the hit in the answer, from 1.';
COMMENT ON COLUMN memsense.recall_explain.chunk_id IS 'The chunk that was ranked.';
COMMENT ON COLUMN memsense.recall_explain.shown_chunk_id IS 'The chunk that was shown for it: itself, or the session chunk around it.';
COMMENT ON COLUMN memsense.recall_explain.granularity IS 'turn or session, of the chunk that was ranked.';
COMMENT ON COLUMN memsense.recall_explain.route IS 'A route that found the chunk.';
COMMENT ON COLUMN memsense.recall_explain.route_rank IS 'The chunk''s rank in that route, from 1.';
COMMENT ON COLUMN memsense.recall_explain.raw_score IS 'The score by which the route ranks: a cosine, or the lexical score.';
COMMENT ON COLUMN memsense.recall_explain.weight IS 'The route''s weight, as it was in force.';
COMMENT ON COLUMN memsense.recall_explain.contribution IS 'The score that the route added to final_score; 0 for a turn that only supports its session.';
COMMENT ON COLUMN memsense.recall_explain.share IS 'contribution / final_score.';
COMMENT ON COLUMN memsense.recall_explain.turn_support IS 'The score that the session''s other chunks added, the same in each row of the hit.';
COMMENT ON COLUMN memsense.recall_explain.term_sum IS 'The score that memory score, dates and the other terms added, the same in each row of the hit.';
COMMENT ON COLUMN memsense.recall_explain.final_score IS 'The hit''s score.';
COMMENT ON COLUMN memsense.recall_explain.tenant_id IS 'Number of the tenant, the first column of every key.';

CREATE VIEW memsense.recall_candidates AS
SELECT
    n.name AS tenant, t.namespace, t.user_id, t.trace_id, t.recorded_at, t.question, c.position, c.chunk_id,
    c.granularity, k.session_id, c.routes, c.ranks, c.scores, c.rrf_score, c.turn_support, c.terms, c.final_score,
    c.score_rank, c.relevance, c.redundancy, c.redundant_to, c.mmr_score, c.hit_rank, c.dropped_by, c.lost_to,
    t.tenant_id
FROM memsense.traces AS t
JOIN memsense.tenants AS n ON n.tenant_id = t.tenant_id
JOIN memsense.trace_candidates AS c ON c.tenant_id = t.tenant_id AND c.trace_id = t.trace_id
LEFT JOIN memsense.chunks AS k
  ON k.tenant_id = c.tenant_id AND k.scope_id = c.scope_id AND k.chunk_id = c.chunk_id;

COMMENT ON VIEW memsense.recall_candidates IS 'Every candidate of every recorded search, chosen or not, with the step that dropped it.';
COMMENT ON COLUMN memsense.recall_candidates.tenant IS 'Name of the tenant that was searched.';
COMMENT ON COLUMN memsense.recall_candidates.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.recall_candidates.user_id IS 'The user whose memory was searched; null for a search of all users.';
COMMENT ON COLUMN memsense.recall_candidates.trace_id IS 'The recorded search.';
COMMENT ON COLUMN memsense.recall_candidates.recorded_at IS 'When the search was recorded.';
COMMENT ON COLUMN memsense.recall_candidates.question IS 'The question.';
COMMENT ON COLUMN memsense.recall_candidates.position IS 'Place after fusion, from 1.';
COMMENT ON COLUMN memsense.recall_candidates.chunk_id IS 'The candidate.';
COMMENT ON COLUMN memsense.recall_candidates.granularity IS 'turn or session.';
COMMENT ON COLUMN memsense.recall_candidates.session_id IS 'Its session; null if the chunk is gone.';
COMMENT ON COLUMN memsense.recall_candidates.routes IS 'The routes that found it.';
COMMENT ON COLUMN memsense.recall_candidates.ranks IS 'Its rank in each of them, from 1.';
COMMENT ON COLUMN memsense.recall_candidates.scores IS 'Its raw score in each of them.';
COMMENT ON COLUMN memsense.recall_candidates.rrf_score IS 'The sum of the routes'' contributions.';
COMMENT ON COLUMN memsense.recall_candidates.turn_support IS 'The score that the other chunks of its session added.';
COMMENT ON COLUMN memsense.recall_candidates.terms IS 'The other terms of the score, by name.';
COMMENT ON COLUMN memsense.recall_candidates.final_score IS 'Its score before MMR.';
COMMENT ON COLUMN memsense.recall_candidates.score_rank IS 'Place by final_score among the candidates of MMR; null if another chunk stood for its session or exchange.';
COMMENT ON COLUMN memsense.recall_candidates.relevance IS 'Its relevance in MMR.';
COMMENT ON COLUMN memsense.recall_candidates.redundancy IS 'Its largest similarity to a hit: when it was chosen, or when the last hit was chosen instead.';
COMMENT ON COLUMN memsense.recall_candidates.redundant_to IS 'The hit with that similarity.';
COMMENT ON COLUMN memsense.recall_candidates.mmr_score IS 'lambda * relevance - (1 - lambda) * redundancy, at that moment.';
COMMENT ON COLUMN memsense.recall_candidates.hit_rank IS 'Place in the answer, from 1; null if it was dropped.';
COMMENT ON COLUMN memsense.recall_candidates.dropped_by IS 'duplicate: too close to a hit; mmr: near enough to hits for others to pass; outranked: by score; session, part: another chunk stood for its session or exchange; limit: max_per_session or min_sessions barred its session; below_min_score: its score was less than the search asked for. Null for hits.';
COMMENT ON COLUMN memsense.recall_candidates.lost_to IS 'The hit it duplicates, or the chunk that stood for its session or exchange.';
COMMENT ON COLUMN memsense.recall_candidates.tenant_id IS 'Number of the tenant, the first column of every key.';

CREATE VIEW memsense.route_contribution AS
WITH hit AS (
    SELECT
        t.tenant_id, t.namespace, t.profile_name, (t.recorded_at AT TIME ZONE 'UTC')::date AS day, t.trace_id,
        c.routes, c.ranks, c.contributions, c.base_score, c.final_score
    FROM memsense.traces AS t
    JOIN memsense.trace_candidates AS c ON c.tenant_id = t.tenant_id AND c.trace_id = t.trace_id
    WHERE c.hit_rank IS NOT NULL
),
total AS (
    SELECT
        tenant_id, namespace, profile_name, day, count(DISTINCT trace_id) AS searches, count(*) AS hits,
        sum(final_score) AS score
    FROM hit
    GROUP BY tenant_id, namespace, profile_name, day
)
SELECT
    n.name AS tenant, total.namespace, total.profile_name, total.day, found.route, total.searches, total.hits,
    count(*) AS hits_found,
    count(*) FILTER (WHERE cardinality(hit.routes) = 1) AS hits_it_alone_found,
    avg(found.rank)::float8 AS mean_rank,
    sum(CASE WHEN hit.base_score = 0 THEN 0 ELSE found.contribution END) / nullif(total.score, 0) AS share_of_score,
    total.tenant_id
FROM total
JOIN memsense.tenants AS n ON n.tenant_id = total.tenant_id
JOIN hit
  ON hit.tenant_id = total.tenant_id AND hit.namespace = total.namespace
 AND hit.profile_name = total.profile_name AND hit.day = total.day
CROSS JOIN LATERAL unnest(hit.routes, hit.ranks, hit.contributions) AS found (route, rank, contribution)
GROUP BY
    n.name, total.tenant_id, total.namespace, total.profile_name, total.day, total.searches, total.hits, total.score,
    found.route;

COMMENT ON VIEW memsense.route_contribution IS 'The contribution of each route to the hits of recorded searches, by day and profile.';
COMMENT ON COLUMN memsense.route_contribution.tenant IS 'Name of the tenant that was searched.';
COMMENT ON COLUMN memsense.route_contribution.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.route_contribution.profile_name IS 'The profile that ranked.';
COMMENT ON COLUMN memsense.route_contribution.day IS 'Day of the searches (UTC).';
COMMENT ON COLUMN memsense.route_contribution.route IS 'The route; one that found no hit has no row.';
COMMENT ON COLUMN memsense.route_contribution.searches IS 'Recorded searches of that day and profile that had hits.';
COMMENT ON COLUMN memsense.route_contribution.hits IS 'Their hits, whichever route found them.';
COMMENT ON COLUMN memsense.route_contribution.hits_found IS 'Hits that this route found.';
COMMENT ON COLUMN memsense.route_contribution.hits_it_alone_found IS 'Hits that no other route found.';
COMMENT ON COLUMN memsense.route_contribution.mean_rank IS 'Mean rank of the hits in this route.';
COMMENT ON COLUMN memsense.route_contribution.share_of_score IS 'This route''s contributions over the sum of all hits'' final scores.';
COMMENT ON COLUMN memsense.route_contribution.tenant_id IS 'Number of the tenant, the first column of every key.';

CREATE VIEW memsense.recall_latency AS
SELECT
    n.name AS tenant, t.namespace, t.profile_name, (t.recorded_at AT TIME ZONE 'UTC')::date AS day,
    count(*) AS searches,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'total')::float8) AS total_p50,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'total')::float8) AS total_p95,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'total')::float8) AS total_p99,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'embed')::float8) AS embed_p50,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'recall')::float8) AS recall_p50,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'rerank')::float8) AS rerank_p50,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY (t.timings_ms ->> 'fetch')::float8) AS fetch_p50,
    t.tenant_id
FROM memsense.traces AS t
JOIN memsense.tenants AS n ON n.tenant_id = t.tenant_id
GROUP BY n.name, t.tenant_id, t.namespace, t.profile_name, day;

COMMENT ON VIEW memsense.recall_latency IS 'The duration of recorded searches, in milliseconds, by day and profile.';
COMMENT ON COLUMN memsense.recall_latency.tenant IS 'Name of the tenant that was searched.';
COMMENT ON COLUMN memsense.recall_latency.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.recall_latency.profile_name IS 'The profile that ranked.';
COMMENT ON COLUMN memsense.recall_latency.day IS 'Day of the searches (UTC).';
COMMENT ON COLUMN memsense.recall_latency.searches IS 'Recorded searches.';
COMMENT ON COLUMN memsense.recall_latency.total_p50 IS 'Median of the whole search.';
COMMENT ON COLUMN memsense.recall_latency.total_p95 IS '95th percentile of the whole search.';
COMMENT ON COLUMN memsense.recall_latency.total_p99 IS '99th percentile of the whole search.';
COMMENT ON COLUMN memsense.recall_latency.embed_p50 IS 'Median of reading and embedding the question.';
COMMENT ON COLUMN memsense.recall_latency.recall_p50 IS 'Median of the recall query, with the reading of its rows.';
COMMENT ON COLUMN memsense.recall_latency.rerank_p50 IS 'Median of scoring and MMR.';
COMMENT ON COLUMN memsense.recall_latency.fetch_p50 IS 'Median of fetching the hits'' texts.';
COMMENT ON COLUMN memsense.recall_latency.tenant_id IS 'Number of the tenant, the first column of every key.';

CREATE VIEW memsense.never_recalled AS
SELECT
    n.name AS tenant, p.name AS namespace, s.user_id, k.chunk_id, k.granularity, k.session_id,
    coalesce(seen.times_candidate, 0) AS times_candidate, seen.best_position, k.occurred_at, k.recorded_at,
    k.tenant_id, k.scope_id
FROM memsense.chunks AS k
JOIN memsense.scopes AS s ON s.tenant_id = k.tenant_id AND s.scope_id = k.scope_id
JOIN memsense.namespaces AS p ON p.tenant_id = k.tenant_id AND p.namespace_id = s.namespace_id
JOIN memsense.tenants AS n ON n.tenant_id = k.tenant_id
LEFT JOIN (
    SELECT tenant_id, scope_id, chunk_id, count(*) AS times_candidate, min(position) AS best_position
    FROM memsense.trace_candidates
    GROUP BY tenant_id, scope_id, chunk_id
) AS seen ON seen.tenant_id = k.tenant_id AND seen.scope_id = k.scope_id AND seen.chunk_id = k.chunk_id
LEFT JOIN (
    SELECT tenant_id, scope_id, chunk_id FROM memsense.trace_candidates WHERE hit_rank IS NOT NULL
    UNION
    SELECT tenant_id, scope_id, shown_chunk_id FROM memsense.trace_candidates WHERE hit_rank IS NOT NULL
) AS hit ON hit.tenant_id = k.tenant_id AND hit.scope_id = k.scope_id AND hit.chunk_id = k.chunk_id
WHERE k.status = 'active' AND hit.chunk_id IS NULL;

COMMENT ON VIEW memsense.never_recalled IS 'Active chunks that no recorded search returned, ranked or shown.';
COMMENT ON COLUMN memsense.never_recalled.tenant IS 'Name of the tenant that owns the chunk.';
COMMENT ON COLUMN memsense.never_recalled.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.never_recalled.user_id IS 'The user whose memory has the chunk.';
COMMENT ON COLUMN memsense.never_recalled.chunk_id IS 'The chunk.';
COMMENT ON COLUMN memsense.never_recalled.granularity IS 'turn or session.';
COMMENT ON COLUMN memsense.never_recalled.session_id IS 'Session the chunk belongs to.';
COMMENT ON COLUMN memsense.never_recalled.times_candidate IS 'Recorded searches that considered it and dropped it.';
COMMENT ON COLUMN memsense.never_recalled.best_position IS 'Its best place after fusion in those; null if it was never considered.';
COMMENT ON COLUMN memsense.never_recalled.occurred_at IS 'When it was said.';
COMMENT ON COLUMN memsense.never_recalled.recorded_at IS 'When it was stored.';
COMMENT ON COLUMN memsense.never_recalled.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.never_recalled.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.duplicate_chunks AS
SELECT
    n.name AS tenant, p.name AS namespace, s.user_id, one.granularity, one.chunk_id, other.chunk_id AS duplicate_id,
    -(one.embedding <#> other.embedding) AS cosine,
    a.session_id = b.session_id AS same_session,
    a.content_hash = b.content_hash AS same_text,
    one.tenant_id, one.scope_id
FROM memsense.embeddings_full AS one
JOIN memsense.embeddings_full AS other
  ON other.tenant_id = one.tenant_id AND other.scope_id = one.scope_id AND other.granularity = one.granularity
 AND other.model_id = one.model_id AND other.chunk_id > one.chunk_id
 AND (one.embedding <#> other.embedding) <= -0.94
JOIN memsense.chunks AS a ON a.tenant_id = one.tenant_id AND a.scope_id = one.scope_id AND a.chunk_id = one.chunk_id
JOIN memsense.chunks AS b
  ON b.tenant_id = one.tenant_id AND b.scope_id = one.scope_id AND b.chunk_id = other.chunk_id
JOIN memsense.scopes AS s ON s.tenant_id = one.tenant_id AND s.scope_id = one.scope_id
JOIN memsense.namespaces AS p
  ON p.tenant_id = one.tenant_id AND p.namespace_id = s.namespace_id AND p.model_id = one.model_id
JOIN memsense.tenants AS n ON n.tenant_id = one.tenant_id;

COMMENT ON VIEW memsense.duplicate_chunks IS 'Pairs of active chunks of one memory that say nearly the same: cosine of 0.94 or more, at which MMR passes one over. Compares every pair of a memory: filter by user_id.';
COMMENT ON COLUMN memsense.duplicate_chunks.tenant IS 'Name of the tenant that owns both chunks.';
COMMENT ON COLUMN memsense.duplicate_chunks.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.duplicate_chunks.user_id IS 'The user whose memory has both.';
COMMENT ON COLUMN memsense.duplicate_chunks.granularity IS 'turn or session; both are the same.';
COMMENT ON COLUMN memsense.duplicate_chunks.chunk_id IS 'The older chunk.';
COMMENT ON COLUMN memsense.duplicate_chunks.duplicate_id IS 'The newer chunk.';
COMMENT ON COLUMN memsense.duplicate_chunks.cosine IS 'Cosine of their whole texts'' vectors.';
COMMENT ON COLUMN memsense.duplicate_chunks.same_session IS 'True if both are of one session.';
COMMENT ON COLUMN memsense.duplicate_chunks.same_text IS 'True if their texts are the same.';
COMMENT ON COLUMN memsense.duplicate_chunks.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.duplicate_chunks.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.embedding_versions AS
SELECT
    n.name AS tenant, p.name AS namespace, m.name AS model, m.dimension, e.route, count(*) AS vectors,
    count(DISTINCT e.scope_id) AS memories, e.model_id = p.model_id AS is_current,
    CASE WHEN e.model_id = p.model_id THEN 'kept' ELSE coalesce(k.state, 'foreign') END AS state,
    count(*) FILTER (WHERE vector_dims(e.embedding) <> m.dimension) AS wrong_width, p.tenant_id
FROM memsense.embeddings AS e
JOIN memsense.models AS m ON m.model_id = e.model_id
JOIN memsense.scopes AS s ON s.tenant_id = e.tenant_id AND s.scope_id = e.scope_id
JOIN memsense.namespaces AS p ON p.tenant_id = e.tenant_id AND p.namespace_id = s.namespace_id
JOIN memsense.tenants AS n ON n.tenant_id = e.tenant_id
LEFT JOIN memsense.namespace_models AS k
  ON k.tenant_id = e.tenant_id AND k.namespace_id = p.namespace_id AND k.model_id = e.model_id
GROUP BY n.name, p.tenant_id, p.name, p.model_id, m.name, m.dimension, e.route, e.model_id, k.state;

COMMENT ON VIEW memsense.embedding_versions IS 'The models that made the stored vectors.';
COMMENT ON COLUMN memsense.embedding_versions.tenant IS 'Name of the tenant that owns the vectors.';
COMMENT ON COLUMN memsense.embedding_versions.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.embedding_versions.model IS 'The embedding model.';
COMMENT ON COLUMN memsense.embedding_versions.dimension IS 'The dimension of its vectors.';
COMMENT ON COLUMN memsense.embedding_versions.route IS 'Partition of embeddings: full, user, assistant or a facet.';
COMMENT ON COLUMN memsense.embedding_versions.vectors IS 'Vectors of this model and route.';
COMMENT ON COLUMN memsense.embedding_versions.memories IS 'Users that have such vectors.';
COMMENT ON COLUMN memsense.embedding_versions.is_current IS 'True for the model that the namespace is searched with.';
COMMENT ON COLUMN memsense.embedding_versions.state IS 'kept: writes make vectors of it; dropping: they are being deleted; foreign: the namespace does not have this model.';
COMMENT ON COLUMN memsense.embedding_versions.wrong_width IS 'Vectors of another dimension than the model''s; 0 unless something went wrong.';
COMMENT ON COLUMN memsense.embedding_versions.tenant_id IS 'Number of the tenant, the first column of every key.';

CREATE VIEW memsense.index_health AS
SELECT
    rel.relname::text AS table_name, idx.relname::text AS index_name, am.amname::text AS method,
    i.indisunique AS is_unique, i.indisvalid AND i.indisready AS is_usable,
    pg_relation_size(idx.oid) AS size_bytes, coalesce(stat.idx_scan, 0) AS scans,
    greatest(rel.reltuples, 0)::bigint AS table_rows,
    greatest(tab.last_analyze, tab.last_autoanalyze) AS analysed_at,
    pg_get_expr(i.indpred, i.indrelid) AS predicate, pg_get_indexdef(i.indexrelid) AS definition
FROM pg_index AS i
JOIN pg_class AS idx ON idx.oid = i.indexrelid
JOIN pg_class AS rel ON rel.oid = i.indrelid
JOIN pg_am AS am ON am.oid = idx.relam
LEFT JOIN pg_stat_all_indexes AS stat ON stat.indexrelid = i.indexrelid
LEFT JOIN pg_stat_all_tables AS tab ON tab.relid = i.indrelid
WHERE rel.relnamespace = 'memsense'::regnamespace;

COMMENT ON VIEW memsense.index_health IS 'Every index of the schema: its state, its size, and how often it was scanned.';
COMMENT ON COLUMN memsense.index_health.table_name IS 'The table (or partition) it is on.';
COMMENT ON COLUMN memsense.index_health.index_name IS 'The index.';
COMMENT ON COLUMN memsense.index_health.method IS 'btree, gin or hnsw.';
COMMENT ON COLUMN memsense.index_health.is_unique IS 'True for the index of a key.';
COMMENT ON COLUMN memsense.index_health.is_usable IS 'False for an index whose build failed or has not finished.';
COMMENT ON COLUMN memsense.index_health.size_bytes IS 'Its size on disk; 0 for the partitioned parent''s.';
COMMENT ON COLUMN memsense.index_health.scans IS 'Scans since the server''s statistics were reset.';
COMMENT ON COLUMN memsense.index_health.table_rows IS 'The planner''s estimate of the table''s rows.';
COMMENT ON COLUMN memsense.index_health.analysed_at IS 'When the table was last analysed; null for never.';
COMMENT ON COLUMN memsense.index_health.predicate IS 'The rows a partial index covers, such as those of one large memory.';
COMMENT ON COLUMN memsense.index_health.definition IS 'The statement that would build it.';

CREATE VIEW memsense.audit AS
SELECT
    n.name AS tenant, p.name AS namespace, s.user_id, e.recorded_at, e.actor, e.kind, e.chunk_id, c.session_id,
    e.detail, e.event_id, e.tenant_id, e.scope_id
FROM memsense.events AS e
JOIN memsense.scopes AS s ON s.tenant_id = e.tenant_id AND s.scope_id = e.scope_id
JOIN memsense.namespaces AS p ON p.tenant_id = e.tenant_id AND p.namespace_id = s.namespace_id
JOIN memsense.tenants AS n ON n.tenant_id = e.tenant_id
LEFT JOIN memsense.chunks AS c ON c.tenant_id = e.tenant_id AND c.scope_id = e.scope_id AND c.chunk_id = e.chunk_id;

COMMENT ON VIEW memsense.audit IS 'Every event of the history, with who or what caused it.';
COMMENT ON COLUMN memsense.audit.tenant IS 'Name of the tenant that owns the memory.';
COMMENT ON COLUMN memsense.audit.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.audit.user_id IS 'The user whose memory it is.';
COMMENT ON COLUMN memsense.audit.recorded_at IS 'When it happened, by the server''s clock.';
COMMENT ON COLUMN memsense.audit.actor IS 'Who or what caused it: key:ID, cli:LOGIN, mcp:LOGIN, hook:AGENT, job:KIND or python:LOGIN; null before schema 0028.';
COMMENT ON COLUMN memsense.audit.kind IS 'What happened: added, updated, deleted, archived, restored, promoted, demoted, feedback, imported or removed.';
COMMENT ON COLUMN memsense.audit.chunk_id IS 'The chunk that it happened to.';
COMMENT ON COLUMN memsense.audit.session_id IS 'The chunk''s session; null if the chunk is gone.';
COMMENT ON COLUMN memsense.audit.detail IS 'Particulars, such as a reason.';
COMMENT ON COLUMN memsense.audit.event_id IS 'Number of the event; later events have higher ones.';
COMMENT ON COLUMN memsense.audit.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.audit.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.lexeme_stats AS
SELECT
    n.name AS tenant, p.name AS namespace, s.user_id, x.granularity, x.lexeme, x.document_frequency, c.chunk_count,
    x.document_frequency::float8 / nullif(c.chunk_count, 0) AS share,
    ln(1 + (c.chunk_count - x.document_frequency + 0.5) / (x.document_frequency + 0.5))::float8 AS idf,
    x.tenant_id, x.scope_id
FROM memsense.lexemes AS x
JOIN memsense.scope_statistics AS c
  ON c.tenant_id = x.tenant_id AND c.scope_id = x.scope_id AND c.granularity = x.granularity
JOIN memsense.scopes AS s ON s.tenant_id = x.tenant_id AND s.scope_id = x.scope_id
JOIN memsense.namespaces AS p ON p.tenant_id = x.tenant_id AND p.namespace_id = s.namespace_id
JOIN memsense.tenants AS n ON n.tenant_id = x.tenant_id;

COMMENT ON VIEW memsense.lexeme_stats IS 'The frequency of each lexeme in each memory, and the weight of a match.';
COMMENT ON COLUMN memsense.lexeme_stats.tenant IS 'Name of the tenant that owns the memory.';
COMMENT ON COLUMN memsense.lexeme_stats.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.lexeme_stats.user_id IS 'The user whose memory it is.';
COMMENT ON COLUMN memsense.lexeme_stats.granularity IS 'turn or session.';
COMMENT ON COLUMN memsense.lexeme_stats.lexeme IS 'The lexeme: a word of the texts, folded and stemmed in the language of each.';
COMMENT ON COLUMN memsense.lexeme_stats.document_frequency IS 'Active chunks that have it, not counting their context.';
COMMENT ON COLUMN memsense.lexeme_stats.chunk_count IS 'Active chunks of this granularity.';
COMMENT ON COLUMN memsense.lexeme_stats.share IS 'document_frequency / chunk_count.';
COMMENT ON COLUMN memsense.lexeme_stats.idf IS 'ln(1 + (n - df + 0.5) / (df + 0.5)), BM25''s weight of a match.';
COMMENT ON COLUMN memsense.lexeme_stats.tenant_id IS 'Number of the tenant, the first column of every key.';
COMMENT ON COLUMN memsense.lexeme_stats.scope_id IS 'Number of the scope: tenant, namespace and user.';

CREATE VIEW memsense.superseded_facts AS
SELECT
    t.name AS tenant, n.name AS namespace, s.user_id, l.tenant_id, l.scope_id, l.older_id, l.chunk_id AS newer_id,
    older.user_text AS older_text, newer.user_text AS newer_text, older.occurred_at AS said_at,
    newer.occurred_at AS superseded_at, l.reason, l.strength, l.found_at, l.state, l.decided_by, l.decided_at
FROM memsense.supersessions AS l
JOIN memsense.scopes AS s ON s.tenant_id = l.tenant_id AND s.scope_id = l.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = l.tenant_id
JOIN memsense.chunks AS older ON older.tenant_id = l.tenant_id AND older.scope_id = l.scope_id AND older.chunk_id = l.older_id
JOIN memsense.chunks AS newer ON newer.tenant_id = l.tenant_id AND newer.scope_id = l.scope_id AND newer.chunk_id = l.chunk_id
WHERE l.state IN ('confirmed', 'set')
  AND (older.expires_at IS NULL OR older.expires_at > now())
  AND (newer.expires_at IS NULL OR newer.expires_at > now());

COMMENT ON VIEW memsense.superseded_facts IS 'Exchanges whose statement a newer one has replaced, as somebody has decided.';
COMMENT ON COLUMN memsense.superseded_facts.state IS '"confirmed", or "set" if somebody named the pair.';
COMMENT ON COLUMN memsense.superseded_facts.decided_by IS 'Who decided it.';
COMMENT ON COLUMN memsense.superseded_facts.decided_at IS 'When it was decided.';
COMMENT ON COLUMN memsense.superseded_facts.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN memsense.superseded_facts.namespace IS 'Namespace within the tenant.';
COMMENT ON COLUMN memsense.superseded_facts.user_id IS 'The user whose memory has both.';
COMMENT ON COLUMN memsense.superseded_facts.tenant_id IS 'Number of the tenant.';
COMMENT ON COLUMN memsense.superseded_facts.scope_id IS 'Number of the scope: tenant, namespace and user.';
COMMENT ON COLUMN memsense.superseded_facts.older_id IS 'The chunk that is superseded.';
COMMENT ON COLUMN memsense.superseded_facts.newer_id IS 'The chunk that supersedes it.';
COMMENT ON COLUMN memsense.superseded_facts.older_text IS 'What the user said first.';
COMMENT ON COLUMN memsense.superseded_facts.newer_text IS 'What the user said later.';
COMMENT ON COLUMN memsense.superseded_facts.said_at IS 'When the older one was said.';
COMMENT ON COLUMN memsense.superseded_facts.superseded_at IS 'When the newer one was said.';
COMMENT ON COLUMN memsense.superseded_facts.reason IS 'Words of change of the newer one, such as "no longer".';
COMMENT ON COLUMN memsense.superseded_facts.strength IS 'Logit of the chance that it is so, as found when written; 0 if it was not.';
COMMENT ON COLUMN memsense.superseded_facts.found_at IS 'When it was found.';
