-- A chunk may have vectors of several models, while one takes another's place. The rows of one
-- scope stay together in the index; a look-up by chunk still needs no model.
ALTER TABLE memsense.embeddings
    DROP CONSTRAINT embeddings_pkey,
    ADD PRIMARY KEY (tenant_id, scope_id, chunk_id, model_id, route);

ALTER TABLE memsense.token_vectors
    DROP CONSTRAINT token_vectors_pkey,
    ADD PRIMARY KEY (tenant_id, scope_id, chunk_id, model_id);
