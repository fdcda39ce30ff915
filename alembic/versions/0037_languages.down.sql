-- The names of text-search configurations again; the texts stay as they are.
UPDATE memsense.namespaces SET language = CASE language
    WHEN 'ar' THEN 'arabic' WHEN 'hy' THEN 'armenian' WHEN 'eu' THEN 'basque' WHEN 'ca' THEN 'catalan'
    WHEN 'da' THEN 'danish' WHEN 'nl' THEN 'dutch' WHEN 'et' THEN 'estonian' WHEN 'fi' THEN 'finnish'
    WHEN 'fr' THEN 'french' WHEN 'de' THEN 'german' WHEN 'el' THEN 'greek' WHEN 'hi' THEN 'hindi'
    WHEN 'hu' THEN 'hungarian' WHEN 'id' THEN 'indonesian' WHEN 'ga' THEN 'irish' WHEN 'it' THEN 'italian'
    WHEN 'lt' THEN 'lithuanian' WHEN 'ne' THEN 'nepali' WHEN 'no' THEN 'norwegian' WHEN 'pt' THEN 'portuguese'
    WHEN 'ro' THEN 'romanian' WHEN 'ru' THEN 'russian' WHEN 'sr' THEN 'serbian' WHEN 'es' THEN 'spanish'
    WHEN 'sv' THEN 'swedish' WHEN 'ta' THEN 'tamil' WHEN 'tr' THEN 'turkish' WHEN 'yi' THEN 'yiddish'
    WHEN 'auto' THEN 'english' WHEN 'en' THEN 'english'
    ELSE CASE WHEN length(language) = 2 THEN 'simple' ELSE language END END;

DELETE FROM memsense.jobs WHERE kind = 'relex';
DROP INDEX memsense.lexemes_reversed;
ALTER TABLE memsense.lexemes ALTER COLUMN lexeme TYPE text COLLATE "default";
ALTER TABLE memsense.scopes DROP COLUMN lexemes_version, DROP COLUMN languages;
ALTER TABLE memsense.chunks DROP COLUMN language;
