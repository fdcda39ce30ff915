-- When the bytes of what was erased have left the files of the server (memsense db purge).
ALTER TABLE memsense.erasures
    ADD COLUMN purged_at timestamptz,
    ADD COLUMN purged_full_at timestamptz;

COMMENT ON COLUMN memsense.erasures.purged_at IS 'Since when no index file has words of it; null before memsense db purge.';
COMMENT ON COLUMN memsense.erasures.purged_full_at IS 'Since when no file but those of the write-ahead log has words of it (memsense db purge --full).';
