-- Jobs: work that is left for later. Every statement names one tenant: no lease is taken across tenants.

-- name: enqueue_chunks
-- The chunks' jobs, in the transaction that causes them; a job that exists already starts again.
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id, chunk_id, model_id)
SELECT s.tenant_id, s.namespace_id, %(kind)s, s.scope_id, chunk_id, %(model_id)s
FROM memsense.scopes AS s
CROSS JOIN unnest(%(chunk_ids)s::bigint[]) AS chunk_id
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
ORDER BY chunk_id
ON CONFLICT (tenant_id, namespace_id, scope_id, kind, chunk_id, model_id)
DO UPDATE SET run_at = EXCLUDED.run_at, attempts = 0, dead_at = NULL, last_error = NULL, errors = '[]';

-- name: schedule_sweep
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id, run_at)
SELECT s.tenant_id, s.namespace_id, %(kind)s, s.scope_id, c.expires_at
FROM memsense.scopes AS s
CROSS JOIN LATERAL (
    SELECT least(
        (SELECT min(x.expires_at) FROM memsense.chunks AS x
         WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = %(scope_id)s AND x.expires_at IS NOT NULL),
        (SELECT min(v.kept_until) FROM memsense.superseded_chunks AS v
         WHERE v.tenant_id = %(tenant_id)s AND v.scope_id = %(scope_id)s AND v.kept_until IS NOT NULL)
    ) AS expires_at
) AS c
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND c.expires_at IS NOT NULL
ON CONFLICT (tenant_id, namespace_id, scope_id, kind, chunk_id, model_id)
DO UPDATE SET run_at = CASE WHEN jobs.attempts > 0 THEN jobs.run_at ELSE EXCLUDED.run_at END;

-- name: enqueue_indexing
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)
SELECT s.tenant_id, s.namespace_id, %(kind)s, s.scope_id
FROM memsense.scopes AS s
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND s.scope_id = ANY (%(scope_ids)s)
ORDER BY s.scope_id
ON CONFLICT (tenant_id, namespace_id, scope_id, kind, chunk_id, model_id) DO NOTHING;

-- name: enqueue_memory
-- One job for each memory, however many writes leave work to it; a dead one starts again.
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)
SELECT s.tenant_id, s.namespace_id, %(kind)s, s.scope_id
FROM memsense.scopes AS s
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
ON CONFLICT (tenant_id, namespace_id, scope_id, kind, chunk_id, model_id)
DO UPDATE SET run_at = EXCLUDED.run_at, attempts = 0, dead_at = NULL, last_error = NULL, errors = '[]'
WHERE jobs.dead_at IS NOT NULL;

-- name: has_unpurged
-- Whether words of an erasure that is older than `seconds` may still be in the server's files.
SELECT EXISTS (
    SELECT FROM memsense.erasures
    WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND purged_at IS NULL
      AND erased_at < now() - make_interval(secs => %(seconds)s));

-- name: enqueue_purging
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind)
VALUES (%(tenant_id)s, %(namespace_id)s, %(kind)s)
ON CONFLICT (tenant_id, namespace_id, scope_id, kind, chunk_id, model_id) DO NOTHING;

-- name: delete_jobs_of_chunks
DELETE FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: select_due_jobs
-- Due jobs, locked until they are leased, each with the lease that has expired on it. Jobs that have failed
-- before are leased one at a time: one of them may be what ends workers.
SELECT job_id, leased_until, lease_owner
FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND kind = %(kind)s
  AND dead_at IS NULL AND run_at <= now() AND (leased_until IS NULL OR leased_until < now())
  AND (attempts > 0 OR leased_until IS NOT NULL) = %(has_failed)s
ORDER BY run_at, job_id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: count_lost_attempt
-- A job whose lease has expired was lost with its worker, which counts as an attempt.
UPDATE memsense.jobs
SET attempts = attempts + 1, last_error = %(error)s, errors = errors || %(entry)s::jsonb
WHERE tenant_id = %(tenant_id)s AND job_id = %(job_id)s;

-- name: lease_jobs
UPDATE memsense.jobs
SET leased_until = now() + make_interval(secs => %(lease_seconds)s), lease_owner = %(owner)s
WHERE tenant_id = %(tenant_id)s AND job_id = ANY (%(job_ids)s::bigint[])
RETURNING job_id, kind, scope_id, chunk_id, model_id, attempts;

-- name: renew_leases
UPDATE memsense.jobs
SET leased_until = now() + make_interval(secs => %(lease_seconds)s)
WHERE tenant_id = %(tenant_id)s AND lease_owner = %(owner)s AND leased_until IS NOT NULL
  AND job_id = ANY (%(job_ids)s::bigint[]);

-- name: release_jobs
-- Gives leases back without counting an attempt.
UPDATE memsense.jobs
SET leased_until = NULL, lease_owner = NULL, last_error = coalesce(%(reason)s, last_error)
WHERE tenant_id = %(tenant_id)s AND lease_owner = %(owner)s AND job_id = ANY (%(job_ids)s::bigint[]);

-- name: finish_jobs
DELETE FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND lease_owner = %(owner)s AND job_id = ANY (%(job_ids)s::bigint[]);

-- name: fail_job
-- Counts an attempt and ends the lease; no row if another worker has the job now.
UPDATE memsense.jobs
SET attempts = attempts + 1,
    leased_until = NULL,
    lease_owner = NULL,
    run_at = now() + make_interval(secs => %(delay_seconds)s),
    last_error = %(error)s,
    errors = errors || jsonb_build_object('at', now(), 'error', %(error)s::text)
WHERE tenant_id = %(tenant_id)s AND lease_owner = %(owner)s AND job_id = %(job_id)s
RETURNING attempts;

-- name: bury_failed_job
UPDATE memsense.jobs SET dead_at = now() WHERE tenant_id = %(tenant_id)s AND job_id = %(job_id)s;

-- name: bury_jobs
-- Jobs that have used up their attempts without reporting an error.
UPDATE memsense.jobs
SET leased_until = NULL, lease_owner = NULL, dead_at = now()
WHERE tenant_id = %(tenant_id)s AND lease_owner = %(owner)s AND job_id = ANY (%(job_ids)s::bigint[]);

-- name: list_jobs
SELECT
    j.job_id, j.kind,
    CASE
        WHEN j.dead_at IS NOT NULL THEN 'dead'
        WHEN j.leased_until >= now() THEN 'running'
        ELSE 'waiting'
    END AS status,
    s.user_id, c.session_id, j.chunk_id, m.name AS model, j.attempts, j.run_at, j.leased_until, j.lease_owner,
    j.dead_at, j.last_error, j.errors, j.recorded_at
FROM memsense.jobs AS j
LEFT JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = j.scope_id
LEFT JOIN memsense.chunks AS c
  ON c.tenant_id = %(tenant_id)s AND c.scope_id = j.scope_id AND c.chunk_id = j.chunk_id
LEFT JOIN memsense.models AS m ON m.model_id = j.model_id
WHERE j.tenant_id = %(tenant_id)s AND j.namespace_id = %(namespace_id)s
  AND (%(kind)s::text IS NULL OR j.kind = %(kind)s)
  AND (%(is_dead)s::boolean IS NULL OR (j.dead_at IS NOT NULL) = %(is_dead)s)
  AND (%(is_running)s::boolean IS NULL OR coalesce(j.leased_until >= now(), false) = %(is_running)s)
ORDER BY j.dead_at IS NOT NULL, j.run_at, j.job_id
LIMIT %(limit)s;

-- name: count_jobs
SELECT
    count(*) FILTER (WHERE dead_at IS NULL AND (leased_until IS NULL OR leased_until < now())
                     AND NOT (kind = 'expire' AND run_at > now() AND attempts = 0)) AS waiting,
    count(*) FILTER (WHERE dead_at IS NULL AND (leased_until IS NULL OR leased_until < now())
                     AND kind = 'expire' AND run_at > now() AND attempts = 0) AS scheduled,
    count(*) FILTER (WHERE dead_at IS NULL AND leased_until >= now()) AS running,
    count(*) FILTER (WHERE dead_at IS NOT NULL) AS dead,
    min(CASE WHEN kind = 'expire' THEN greatest(recorded_at, run_at) ELSE recorded_at END)
        FILTER (WHERE dead_at IS NULL AND NOT (kind = 'expire' AND run_at > now())) AS oldest_at,
    min(run_at) FILTER (WHERE dead_at IS NULL) AS next_at
FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s;

-- name: retry_jobs
-- Makes jobs due now; dead ones get all their attempts again. Without ids, all dead ones.
UPDATE memsense.jobs
SET run_at = now(), attempts = CASE WHEN dead_at IS NULL THEN attempts ELSE 0 END, dead_at = NULL
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
  AND CASE WHEN %(job_ids)s::bigint[] IS NULL THEN dead_at IS NOT NULL ELSE job_id = ANY (%(job_ids)s::bigint[]) END
RETURNING job_id;

-- name: drop_jobs
-- Without ids, all dead ones.
DELETE FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
  AND CASE WHEN %(job_ids)s::bigint[] IS NULL THEN dead_at IS NOT NULL ELSE job_id = ANY (%(job_ids)s::bigint[]) END
RETURNING job_id;

-- name: count_waiting_chunks
-- How many of some chunks wait for their vectors of the model that searches use.
SELECT count(DISTINCT chunk_id)
FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND kind = %(kind)s AND chunk_id = ANY (%(chunk_ids)s)
  AND coalesce(model_id, %(model_id)s) IS NOT DISTINCT FROM %(model_id)s;

-- name: fetch_unembedded
-- Some active chunks, each with the id of the exchange before it in its session, the routes that have a vector
-- of the model, and whether it has its tokens.
SELECT
    c.chunk_id, c.granularity, c.user_text, c.assistant_text, c.session_text, c.opening_length,
    c.personal_info, c.preferences, c.events,
    before.chunk_id AS previous_chunk_id,
    ARRAY(SELECT e.route FROM memsense.embeddings AS e
          WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.chunk_id = c.chunk_id
            AND e.model_id = %(model_id)s) AS embedded,
    EXISTS (SELECT FROM memsense.token_vectors AS t
            WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.chunk_id = c.chunk_id
              AND t.model_id = %(model_id)s) AS has_tokens
FROM memsense.chunks AS c
LEFT JOIN LATERAL (
    SELECT b.chunk_id
    FROM memsense.chunks AS b
    WHERE b.tenant_id = %(tenant_id)s AND b.scope_id = %(scope_id)s AND b.session_id = c.session_id
      AND c.granularity = 'turn' AND b.granularity = 'turn' AND b.status = 'active'
      AND (b.ordinal, b.part) < (c.ordinal, c.part)
    ORDER BY b.ordinal DESC, b.part DESC
    LIMIT 1
) AS before ON true
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.status = 'active'
  AND c.chunk_id = ANY (%(chunk_ids)s)
ORDER BY c.chunk_id;
