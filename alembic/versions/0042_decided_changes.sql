-- A pair of exchanges may be confirmed, rejected, or named by a user. What was decided stays as it is.
ALTER TABLE memsense.supersessions
    ADD COLUMN state text NOT NULL DEFAULT 'found' CHECK (state IN ('found', 'confirmed', 'rejected', 'set')),
    ADD COLUMN evidence jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN decided_by text,
    ADD COLUMN decided_at timestamptz;

COMMENT ON TABLE memsense.supersessions IS 'Pairs of exchanges of which the newer one may have replaced what the older one says. Both stay stored; a search ranks them by what its question asks for.';
COMMENT ON COLUMN memsense.supersessions.reason IS 'Words that prove it, such as "ended: dropped flake8"; empty if there are none.';
COMMENT ON COLUMN memsense.supersessions.state IS '"found" when written, "confirmed" or "rejected" by somebody, "set" if somebody named the pair.';
COMMENT ON COLUMN memsense.supersessions.evidence IS 'What speaks for and against it, by name.';
COMMENT ON COLUMN memsense.supersessions.decided_by IS 'Who decided it.';
COMMENT ON COLUMN memsense.supersessions.decided_at IS 'When it was decided.';
