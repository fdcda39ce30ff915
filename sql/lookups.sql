-- Functions that read the GIN indexes for memories of the caller's tenant. Under a policy PostgreSQL uses no
-- index whose operators are not leakproof, and only a superuser can mark them so. On a server without a
-- superuser for its users, these functions run as memsense_index (security.sql, secure_lookups), which may
-- read all tenants by a policy of its own; so each function compares the tenant with the setting, as the
-- policies do, and returns nothing if none is set. Elsewhere they run as their caller, and recall reads the
-- tables directly. They are created anew with the policies. In PL/pgSQL, which keeps its plans.

DROP FUNCTION IF EXISTS memsense.find_postings(integer[], text[], text[], text[]);
DROP FUNCTION IF EXISTS memsense.find_ranked(integer[], text[], tsquery);
DROP FUNCTION IF EXISTS memsense.find_chunks(integer[], text[]);
DROP FUNCTION IF EXISTS memsense.find_tagged(integer[], text[]);
DROP FUNCTION IF EXISTS memsense.find_entities(integer[], text[]);

-- One row for each of some words and each chunk that has it. `granularities` says for each word in which
-- chunks to look. The text index is asked for `drivers`, the rarest words; the others are counted in the
-- same chunks. `code` says how often the word is in which field (termcounts.sql); the words of a chunk
-- are returned only if the code can't say so.
CREATE FUNCTION memsense.find_postings(scopes integer[], lexemes text[], granularities text[], drivers text[])
RETURNS TABLE (
    lexeme text, granularity text, chunk_id bigint, user_length integer, assistant_length integer,
    tag_length integer, context_length integer, code integer, tsv tsvector
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own constant integer := {own};
BEGIN
    RETURN QUERY
    SELECT
        found.lexeme, found.granularity, found.chunk_id, found.user_length, found.assistant_length,
        found.tag_length, found.context_length, found.code,
        CASE WHEN found.code > memsense.count_codes() THEN found.tsv END
    FROM (
        SELECT
            asked.lexeme, asked.granularity, c.chunk_id, c.user_length, c.assistant_length, c.tag_length,
            c.context_length, c.tsv,
            width_bucket(ts_rank(memsense.field_weights(), c.tsv, asked.query)::float8, memsense.count_cuts()) AS code
        FROM (
            SELECT lexeme, granularity, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
            FROM unnest(find_postings.lexemes, find_postings.granularities) AS given (lexeme, granularity)
            OFFSET 0
        ) AS asked
        CROSS JOIN LATERAL (
            SELECT chunk_id, tsv, user_length, assistant_length, tag_length, context_length
            FROM memsense.chunks
            WHERE tenant_id = own
              AND scope_id = ANY (find_postings.scopes)
              AND memsense.scope_lexemes(scope_id, tsv)
                  && ARRAY(SELECT scope || ':' || asked.lexeme FROM unnest(find_postings.scopes) AS scope)
              AND memsense.scope_lexemes(scope_id, tsv)
                  && ARRAY(SELECT scope || ':' || driver
                           FROM unnest(find_postings.scopes) AS scope
                           CROSS JOIN unnest(find_postings.drivers) AS driver
                           WHERE driver = asked.lexeme OR asked.lexeme <> ALL (find_postings.drivers))
              AND granularity = asked.granularity
            OFFSET 0
        ) AS c
        OFFSET 0
    ) AS found;
END $$;

COMMENT ON FUNCTION memsense.find_postings(integer[], text[], text[], text[]) IS 'The chunks that hold words, with how often: what BM25F is worked out of.';

-- The chunks that have any of some words and whose own text a query matches, scored by ts_rank_cd.
CREATE FUNCTION memsense.find_ranked(scopes integer[], lexemes text[], query tsquery)
RETURNS TABLE (chunk_id bigint, granularity text, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own constant integer := {own};
BEGIN
    RETURN QUERY
    SELECT c.chunk_id, c.granularity, ts_rank_cd(said.tsv, find_ranked.query)::float8
    FROM memsense.chunks AS c
    CROSS JOIN LATERAL (SELECT ts_filter(c.tsv, '{a,b,c}') AS tsv) AS said
    WHERE c.tenant_id = own
      AND c.scope_id = ANY (find_ranked.scopes)
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope || ':' || lexeme
                   FROM unnest(find_ranked.scopes) AS scope CROSS JOIN unnest(find_ranked.lexemes) AS lexeme)
      AND said.tsv @@ find_ranked.query;
END $$;

COMMENT ON FUNCTION memsense.find_ranked(integer[], text[], tsquery) IS 'The chunks that a query matches, by ts_rank_cd.';

-- The chunks that have every one of some words; without words, all chunks that words can find.
CREATE FUNCTION memsense.find_chunks(scopes integer[], lexemes text[])
RETURNS TABLE (chunk_id bigint, granularity text)
LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own constant integer := {own};
BEGIN
    IF find_chunks.lexemes = '{}' THEN
        RETURN QUERY
        SELECT chunk_id, granularity
        FROM memsense.chunks
        WHERE tenant_id = own AND scope_id = ANY (find_chunks.scopes) AND tsv IS NOT NULL;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT c.chunk_id, c.granularity
    FROM unnest(find_chunks.scopes) AS scope
    CROSS JOIN LATERAL (
        SELECT chunk_id, granularity
        FROM memsense.chunks
        WHERE tenant_id = own
          AND scope_id = scope
          AND memsense.scope_lexemes(scope_id, tsv)
              @> ARRAY(SELECT scope || ':' || lexeme FROM unnest(find_chunks.lexemes) AS lexeme)
        OFFSET 0
    ) AS c;
END $$;

COMMENT ON FUNCTION memsense.find_chunks(integer[], text[]) IS 'The chunks that hold every one of some words.';

CREATE FUNCTION memsense.find_tagged(scopes integer[], tags text[])
RETURNS TABLE (chunk_id bigint)
LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own constant integer := {own};
BEGIN
    RETURN QUERY
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = own
      AND c.scope_id = ANY (find_tagged.scopes)
      AND c.tags <> '{}'
      AND memsense.scope_tags(c.scope_id, c.tags)
          && ARRAY(SELECT scope || ':' || tag
                   FROM unnest(find_tagged.scopes) AS scope CROSS JOIN unnest(find_tagged.tags) AS tag);
END $$;

COMMENT ON FUNCTION memsense.find_tagged(integer[], text[]) IS 'The chunks that have any of some tags.';

CREATE FUNCTION memsense.find_entities(scopes integer[], spellings text[])
RETURNS TABLE (scope_id integer, entity_id bigint, key text)
LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own constant integer := {own};
BEGIN
    RETURN QUERY
    SELECT e.scope_id, e.entity_id, e.key
    FROM memsense.entities AS e
    WHERE e.tenant_id = own
      AND e.scope_id = ANY (find_entities.scopes)
      AND memsense.scope_spellings(e.scope_id, e.key)
          && ARRAY(SELECT scope || ':' || spelling
                   FROM unnest(find_entities.scopes) AS scope CROSS JOIN unnest(find_entities.spellings) AS spelling);
END $$;

COMMENT ON FUNCTION memsense.find_entities(integer[], text[]) IS 'The entities that share a spelling, whole or with a letter left out.';
