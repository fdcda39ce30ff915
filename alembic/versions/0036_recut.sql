-- One job for each memory with an exchange that has a part of more than 1,000 characters. The bytes of a text are
-- known without reading it; a text of other letters that is shorter has its job done without a change.
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)
SELECT s.tenant_id, s.namespace_id, 'recut', s.scope_id
FROM memsense.scopes AS s
WHERE EXISTS (
    SELECT FROM memsense.chunks AS c
    WHERE c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id AND c.granularity = 'turn' AND c.status = 'active'
      AND octet_length(c.user_text) + octet_length(c.assistant_text) > 1000)
ON CONFLICT DO NOTHING;
