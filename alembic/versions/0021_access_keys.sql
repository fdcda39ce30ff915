-- Keys by which programs reach a server of memsense. A key names its tenant, so that it is looked up
-- as every other row is: within one tenant. Its secret is not here, only the key's SHA-256.
CREATE TABLE memsense.access_keys (
    tenant_id integer NOT NULL REFERENCES memsense.tenants,
    key_id text NOT NULL,
    key_hash bytea NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL CHECK (scopes <@ '{read,write,forget,admin}' AND cardinality(scopes) > 0),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, key_id)
);

COMMENT ON TABLE memsense.access_keys IS 'Keys of a tenant for memsense serve: who shows one acts for the tenant, within its scopes.';
COMMENT ON COLUMN memsense.access_keys.key_id IS 'The readable part of the key, by which it is found, listed and revoked.';
COMMENT ON COLUMN memsense.access_keys.key_hash IS 'SHA-256 of the whole key, whose secret has 256 random bits.';
COMMENT ON COLUMN memsense.access_keys.name IS 'What it is for, as whoever made it says.';
COMMENT ON COLUMN memsense.access_keys.scopes IS 'What it opens: read, write, forget, admin.';
COMMENT ON COLUMN memsense.access_keys.revoked_at IS 'Since when it opens nothing; the row stays.';
COMMENT ON COLUMN memsense.access_keys.last_used_at IS 'When it was last shown, to the minute.';
