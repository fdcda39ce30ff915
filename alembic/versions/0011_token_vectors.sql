-- One bit a dimension for each token of an exchange: what ranking compares the best candidates by.
-- A table of its own, so that no scan of vectors or chunks reads past it; out of line and not
-- compressed, since signs don't get smaller.
CREATE TABLE memsense.token_vectors (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    chunk_id bigint NOT NULL,
    model_id integer NOT NULL REFERENCES memsense.models,
    user_pieces smallint NOT NULL,
    pieces bytea NOT NULL,
    signs bytea NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, chunk_id),
    FOREIGN KEY (tenant_id, scope_id, chunk_id) REFERENCES memsense.chunks ON DELETE CASCADE
);

ALTER TABLE memsense.token_vectors ALTER COLUMN pieces SET STORAGE EXTERNAL;
ALTER TABLE memsense.token_vectors ALTER COLUMN signs SET STORAGE EXTERNAL;

COMMENT ON TABLE memsense.token_vectors IS 'The first tokens of each active exchange; empty where the embedder gives none, or was told not to.';
COMMENT ON COLUMN memsense.token_vectors.user_pieces IS 'How many of the tokens, from the first, are of the user side.';
COMMENT ON COLUMN memsense.token_vectors.pieces IS 'The tokens'' numbers in the model''s vocabulary, two bytes each, the lower one first.';
COMMENT ON COLUMN memsense.token_vectors.signs IS 'For each token a bit a dimension: whether its vector is above the model''s mean.';
