-- What a conversation was about: the repository or the folder that it took place in, or a name that the
-- caller gave. Pools of sessions (memsense.projects) stay beside it; a filter means both.
ALTER TABLE memsense.chunks ADD COLUMN project text;

COMMENT ON COLUMN memsense.chunks.project IS
    'Address of the repository, or path of the folder, that the exchange was about, or a name of the caller''s; null: none known.';
