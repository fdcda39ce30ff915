-- Queries of the databases in which other programs keep their conversations: SQLite's dialect, opened
-- read-only by memsense/db/foreign.py. They select * where columns differ between a program's versions, so
-- that a database without one of them can be read too.

-- name: list_tables
SELECT name FROM sqlite_master WHERE type = 'table';

-- name: list_columns
SELECT name FROM pragma_table_info(:table);

-- name: list_opencode_sessions
SELECT * FROM session ORDER BY time_created, id;

-- name: list_opencode_messages
SELECT id, data FROM message WHERE session_id = :session ORDER BY time_created, id;

-- name: list_opencode_parts
SELECT message_id, data FROM part WHERE session_id = :session ORDER BY id;

-- name: list_goose_sessions
SELECT * FROM sessions ORDER BY created_at, id;

-- name: list_goose_messages
SELECT * FROM messages WHERE session_id = :session ORDER BY id;

-- name: list_values
-- The values whose keys lie between two texts: a range, which the index can serve.
SELECT key, value FROM cursorDiskKV WHERE key >= :first AND key < :last ORDER BY key;

-- name: list_items
SELECT key, value FROM ItemTable
WHERE key IN ('composer.composerData', 'workbench.panel.aichat.view.aichat.chatdata')
ORDER BY key;
