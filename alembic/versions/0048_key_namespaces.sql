ALTER TABLE memsense.access_keys ADD COLUMN namespace text;

COMMENT ON COLUMN memsense.access_keys.namespace IS 'The one namespace that the key opens; null if it opens every one of the tenant.';
