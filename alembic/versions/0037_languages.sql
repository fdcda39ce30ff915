-- The language of each text, and words that are made in Python: rows of before have version 1 until their job
-- is done.
ALTER TABLE memsense.chunks ADD COLUMN language text;
COMMENT ON COLUMN memsense.chunks.language IS 'Code of the language that the exchange was indexed as, such as en, null before it was indexed by language.';

ALTER TABLE memsense.scopes ADD COLUMN languages jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN memsense.scopes.languages IS 'Number of active chunks by language: {"en": 410, "de": 22}.';

-- In two steps: memories that exist have 1, new ones 2.
ALTER TABLE memsense.scopes ADD COLUMN lexemes_version smallint NOT NULL DEFAULT 1;
ALTER TABLE memsense.scopes ALTER COLUMN lexemes_version SET DEFAULT 2;
COMMENT ON COLUMN memsense.scopes.lexemes_version IS '1: index entries made by to_tsvector wait for a job of kind relex, 2: all entries were made in Python.';

-- A range of the primary key then has the lexemes that begin with a word, whatever the database's collation is,
-- and a range of the second index those that end with it.
ALTER TABLE memsense.lexemes ALTER COLUMN lexeme TYPE text COLLATE "C";
CREATE INDEX lexemes_reversed ON memsense.lexemes (tenant_id, scope_id, granularity, reverse(lexeme));

-- English was the default, so it says nothing about the texts. Others that have no code stay.
UPDATE memsense.namespaces SET language = CASE language
    WHEN 'arabic' THEN 'ar' WHEN 'armenian' THEN 'hy' WHEN 'basque' THEN 'eu' WHEN 'catalan' THEN 'ca'
    WHEN 'danish' THEN 'da' WHEN 'dutch' THEN 'nl' WHEN 'estonian' THEN 'et' WHEN 'finnish' THEN 'fi'
    WHEN 'french' THEN 'fr' WHEN 'german' THEN 'de' WHEN 'greek' THEN 'el' WHEN 'hindi' THEN 'hi'
    WHEN 'hungarian' THEN 'hu' WHEN 'indonesian' THEN 'id' WHEN 'irish' THEN 'ga' WHEN 'italian' THEN 'it'
    WHEN 'lithuanian' THEN 'lt' WHEN 'nepali' THEN 'ne' WHEN 'norwegian' THEN 'no' WHEN 'portuguese' THEN 'pt'
    WHEN 'romanian' THEN 'ro' WHEN 'russian' THEN 'ru' WHEN 'serbian' THEN 'sr' WHEN 'spanish' THEN 'es'
    WHEN 'swedish' THEN 'sv' WHEN 'tamil' THEN 'ta' WHEN 'turkish' THEN 'tr' WHEN 'yiddish' THEN 'yi'
    WHEN 'english' THEN 'auto' ELSE language END;

-- One job for each memory with anything stored; the others have nothing of version 1.
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)
SELECT s.tenant_id, s.namespace_id, 'relex', s.scope_id
FROM memsense.scopes AS s
WHERE EXISTS (SELECT FROM memsense.chunks AS c WHERE c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id)
ON CONFLICT DO NOTHING;

UPDATE memsense.scopes AS s SET lexemes_version = 2
WHERE NOT EXISTS (SELECT FROM memsense.chunks AS c WHERE c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id);
