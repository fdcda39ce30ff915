-- What finds the chunks that have a tag. docs/benchmarks.md says why metadata has no such index.

-- The tags of a chunk, each qualified by its scope, so that one scope's search reads only its own.
CREATE FUNCTION memsense.scope_tags(scope_id integer, tags text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT scope_id || ':' || tag FROM unnest(tags) AS tag);

-- Chunks without tags, which is most of them, cost nothing.
CREATE INDEX chunks_scope_tags ON memsense.chunks
    USING gin (memsense.scope_tags(scope_id, tags))
    WITH (fastupdate = on, gin_pending_list_limit = 64)
    WHERE tags <> '{}';
