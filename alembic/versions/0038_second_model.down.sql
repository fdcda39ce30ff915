ALTER TABLE memsense.embeddings DROP COLUMN beside;
ALTER TABLE memsense.namespace_models DROP COLUMN languages;
