-- A second model beside the one that searches use: each text is compared by the model of its language.
ALTER TABLE memsense.namespace_models ADD COLUMN languages text[];
COMMENT ON COLUMN memsense.namespace_models.languages IS 'Languages whose texts the model compares beside the one in use, such as {en}, or {*}; null for none, and for all if it is in use.';

ALTER TABLE memsense.embeddings ADD COLUMN beside boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN memsense.embeddings.beside IS 'Whether another model compares the text, by its language, where a search reads both models.';
