-- The model that a namespace is searched with is namespaces.model_id; it needs no row here.
CREATE TABLE memsense.namespace_models (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    model_id integer NOT NULL REFERENCES memsense.models,
    state text NOT NULL DEFAULT 'kept' CHECK (state IN ('kept', 'dropping')),
    embedder jsonb NOT NULL DEFAULT '{}',
    added_at timestamptz NOT NULL DEFAULT now(),
    left_at timestamptz,
    PRIMARY KEY (tenant_id, namespace_id, model_id),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces
);

COMMENT ON TABLE memsense.namespace_models IS 'The models that writes of a namespace make vectors of.';
COMMENT ON COLUMN memsense.namespace_models.state IS 'kept, or dropping: no write makes vectors of it any more, and those there are go.';
COMMENT ON COLUMN memsense.namespace_models.embedder IS 'How a process opens the model; empty where the program that uses memsense brings it. No secrets.';
COMMENT ON COLUMN memsense.namespace_models.left_at IS 'When searches went over from it to another model; null where they never did.';
