-- Whether a scope has HNSW indexes of its own: `promote` is for the scores of memories.
ALTER TABLE memsense.scopes RENAME COLUMN promoted TO indexed;
