-- Sums of calls. A user is named by the number of its memory alone: once that is erased, nothing here says
-- whose calls they were. No reference to scopes, since 0 stands for calls of no user.
CREATE TABLE memsense.calls (
    tenant_id integer NOT NULL,
    scope_id integer NOT NULL,
    day date NOT NULL,
    namespace text NOT NULL,
    verb text NOT NULL,
    calls bigint NOT NULL,
    failures bigint NOT NULL,
    milliseconds double precision NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, day, namespace, verb)
) WITH (fillfactor = 70);

COMMENT ON TABLE memsense.calls IS 'Calls of memsense by memory, UTC day, namespace and verb, from processes with MEMSENSE_METERING. Each adds its own to the sums.';
COMMENT ON COLUMN memsense.calls.scope_id IS 'The user''s memory; 0 for calls that named no user, or one without a memory.';
COMMENT ON COLUMN memsense.calls.failures IS 'Calls that raised an error; they are counted in calls as well.';
COMMENT ON COLUMN memsense.calls.milliseconds IS 'Total duration of the calls.';
