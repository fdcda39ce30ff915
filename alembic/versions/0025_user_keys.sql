-- A key may open one user's memory alone. It never has the scope admin, which is the tenant's.
ALTER TABLE memsense.access_keys
    ADD COLUMN user_id text,
    ADD CONSTRAINT access_keys_of_user CHECK (user_id IS NULL OR NOT scopes @> '{admin}');

COMMENT ON COLUMN memsense.access_keys.user_id IS 'Whose memory it opens, and nobody else''s; null: the whole tenant''s.';
