DELETE FROM memsense.embeddings AS e
USING memsense.scopes AS s, memsense.namespaces AS n
WHERE s.tenant_id = e.tenant_id AND s.scope_id = e.scope_id
  AND n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id AND n.model_id <> e.model_id;

DELETE FROM memsense.token_vectors AS v
USING memsense.scopes AS s, memsense.namespaces AS n
WHERE s.tenant_id = v.tenant_id AND s.scope_id = v.scope_id
  AND n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id AND n.model_id <> v.model_id;

-- The statement of before doesn't name a model, so that an index of one would not serve it.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT indexname FROM pg_indexes
        WHERE schemaname = 'memsense' AND indexname LIKE 'embeddings\_%\_model\_%\_scope\_%'
    LOOP
        EXECUTE format('DROP INDEX memsense.%I', name);
    END LOOP;
END $$;

UPDATE memsense.scopes SET indexed = false WHERE indexed;

ALTER TABLE memsense.token_vectors
    DROP CONSTRAINT token_vectors_pkey,
    ADD PRIMARY KEY (tenant_id, scope_id, chunk_id);

ALTER TABLE memsense.embeddings
    DROP CONSTRAINT embeddings_pkey,
    ADD PRIMARY KEY (tenant_id, scope_id, chunk_id, route);
