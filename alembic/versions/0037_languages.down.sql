-- Stored texts stay as they are; only what was made of them is dropped.
DELETE FROM memsense.jobs WHERE kind = 'relex';
DROP INDEX memsense.lexemes_reversed;
ALTER TABLE memsense.lexemes ALTER COLUMN lexeme TYPE text COLLATE "default";
ALTER TABLE memsense.scopes DROP COLUMN lexemes_version, DROP COLUMN languages;
ALTER TABLE memsense.chunks DROP COLUMN language;
