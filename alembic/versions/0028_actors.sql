-- Who or what caused an event: an access key, a person at the command line, a hook, a job, a program.
ALTER TABLE memsense.events ADD COLUMN actor text;

COMMENT ON COLUMN memsense.events.actor IS
    'Who or what caused it: key:ID, cli:LOGIN, mcp:LOGIN, hook:AGENT, job:KIND or python:LOGIN; null: recorded before this column.';
