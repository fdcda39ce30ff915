-- Settings of a namespace. Every change raises settings_version, which recall reports, so that a
-- process that searched with older settings knows it.

ALTER TABLE memsense.namespaces ADD COLUMN settings_version bigint NOT NULL DEFAULT 0;

CREATE TABLE memsense.settings (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    name text NOT NULL,
    value jsonb NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, namespace_id, name),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces ON DELETE CASCADE
);

CREATE TABLE memsense.profiles (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    name text NOT NULL,
    constants jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, namespace_id, name),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces ON DELETE CASCADE
);

CREATE TABLE memsense.settings_history (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    version bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('setting', 'profile')),
    name text NOT NULL,
    before jsonb,
    after jsonb,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, namespace_id, version, kind, name),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces ON DELETE CASCADE
);

CREATE TABLE memsense.projects (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, namespace_id, name),
    FOREIGN KEY (tenant_id, namespace_id) REFERENCES memsense.namespaces ON DELETE CASCADE
);

CREATE TABLE memsense.project_sessions (
    tenant_id integer NOT NULL,
    namespace_id integer NOT NULL,
    project text NOT NULL,
    session_id text NOT NULL,
    PRIMARY KEY (tenant_id, namespace_id, project, session_id),
    FOREIGN KEY (tenant_id, namespace_id, project) REFERENCES memsense.projects ON DELETE CASCADE
);

COMMENT ON COLUMN memsense.namespaces.settings_version IS 'Raised by every change of a setting or a stored profile.';
COMMENT ON TABLE memsense.settings IS 'What a namespace sets other than the default: its profile, single weights and constants.';
COMMENT ON TABLE memsense.profiles IS 'Stored profiles, each with all of its constants, so that a later release leaves it as it is.';
COMMENT ON TABLE memsense.settings_history IS 'Append-only history of settings and stored profiles: who changed what, when, from what to what.';
COMMENT ON TABLE memsense.projects IS 'Named pools of sessions that a search may be limited to.';
COMMENT ON TABLE memsense.project_sessions IS 'The sessions of a project, of whichever users of the namespace.';
