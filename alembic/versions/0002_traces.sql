-- Traces. A trace belongs to the scope that was searched and goes with it; its candidates hold
-- numbers and ids only, so the one text of a user's in here is the question.

-- All candidates of a trace are one row of arrays, because a row each costs as much as the search
-- itself. memsense.trace_candidates (a view) unpacks them.

CREATE TABLE memsense.traces (
    tenant_id integer NOT NULL REFERENCES memsense.tenants ON DELETE CASCADE,
    trace_id uuid NOT NULL,
    scope_id integer,
    namespace text NOT NULL,
    user_id text,
    question text NOT NULL,
    searched text NOT NULL,
    names text[] NOT NULL,
    dates text[] NOT NULL,
    lexemes text[] NOT NULL,
    top_k integer NOT NULL,
    granularity text NOT NULL CHECK (granularity IN ('auto', 'turn', 'session')),
    returned text NOT NULL CHECK (returned IN ('turn', 'session')),
    filters jsonb NOT NULL,
    asked_at timestamptz,
    profile_name text NOT NULL,
    profile jsonb NOT NULL,
    chunk_counts jsonb NOT NULL,
    lexical_matches integer NOT NULL,
    candidate_count integer NOT NULL,
    hit_count integer NOT NULL,
    timings_ms jsonb NOT NULL,
    notes text[] NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, trace_id),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES memsense.scopes ON DELETE CASCADE
);

CREATE INDEX traces_recorded_at ON memsense.traces (tenant_id, namespace, recorded_at DESC, trace_id);

CREATE TABLE memsense.packed_candidates (
    tenant_id integer NOT NULL,
    trace_id uuid NOT NULL,
    rrf_k double precision NOT NULL,
    rrf_weight double precision NOT NULL,
    mmr_lambda double precision NOT NULL,
    routes text[] NOT NULL,
    weights double precision[] NOT NULL,
    terms text[] NOT NULL,
    scope_ids integer[] NOT NULL,
    chunk_ids bigint[] NOT NULL,
    are_sessions boolean[] NOT NULL,
    ranks integer[] NOT NULL,
    scores double precision[] NOT NULL,
    memory_scores double precision[] NOT NULL,
    term_shares double precision[] NOT NULL,
    own_routes boolean[] NOT NULL,
    final_scores double precision[] NOT NULL,
    score_ranks integer[] NOT NULL,
    relevances double precision[] NOT NULL,
    redundancies double precision[] NOT NULL,
    rivals bigint[] NOT NULL,
    steps smallint[] NOT NULL,
    hit_ranks integer[] NOT NULL,
    shown_chunk_ids bigint[] NOT NULL,
    supported integer[] NOT NULL,
    session_rrf_scores double precision[] NOT NULL,
    turn_supports double precision[] NOT NULL,
    supporting_turns integer[] NOT NULL,
    best_turns bigint[] NOT NULL,
    best_turn_rrf_scores double precision[] NOT NULL,
    PRIMARY KEY (tenant_id, trace_id),
    FOREIGN KEY (tenant_id, trace_id) REFERENCES memsense.traces ON DELETE CASCADE
);

-- Numbers like these don't shrink, and trying costs more than writing them.
ALTER TABLE memsense.packed_candidates
    ALTER COLUMN scope_ids SET STORAGE EXTERNAL,
    ALTER COLUMN chunk_ids SET STORAGE EXTERNAL,
    ALTER COLUMN are_sessions SET STORAGE EXTERNAL,
    ALTER COLUMN ranks SET STORAGE EXTERNAL,
    ALTER COLUMN scores SET STORAGE EXTERNAL,
    ALTER COLUMN memory_scores SET STORAGE EXTERNAL,
    ALTER COLUMN term_shares SET STORAGE EXTERNAL,
    ALTER COLUMN own_routes SET STORAGE EXTERNAL,
    ALTER COLUMN final_scores SET STORAGE EXTERNAL,
    ALTER COLUMN score_ranks SET STORAGE EXTERNAL,
    ALTER COLUMN relevances SET STORAGE EXTERNAL,
    ALTER COLUMN redundancies SET STORAGE EXTERNAL,
    ALTER COLUMN rivals SET STORAGE EXTERNAL,
    ALTER COLUMN steps SET STORAGE EXTERNAL,
    ALTER COLUMN hit_ranks SET STORAGE EXTERNAL,
    ALTER COLUMN shown_chunk_ids SET STORAGE EXTERNAL,
    ALTER COLUMN supported SET STORAGE EXTERNAL,
    ALTER COLUMN session_rrf_scores SET STORAGE EXTERNAL,
    ALTER COLUMN turn_supports SET STORAGE EXTERNAL,
    ALTER COLUMN supporting_turns SET STORAGE EXTERNAL,
    ALTER COLUMN best_turns SET STORAGE EXTERNAL,
    ALTER COLUMN best_turn_rrf_scores SET STORAGE EXTERNAL;

COMMENT ON TABLE memsense.traces IS 'Recorded searches: the question, what was asked for, every constant that ranked it, and how long each phase took.';
COMMENT ON TABLE memsense.packed_candidates IS 'The candidates of a recorded search, all in one row: read them through trace_candidates. An array has an element for each candidate, by position.';
COMMENT ON COLUMN memsense.packed_candidates.ranks IS 'By candidate, then route; 0: the route did not find it.';
COMMENT ON COLUMN memsense.packed_candidates.scores IS 'Raw scores, as ranks.';
COMMENT ON COLUMN memsense.packed_candidates.term_shares IS 'What each term added to the score: by candidate, then term; NaN: no such term.';
COMMENT ON COLUMN memsense.packed_candidates.own_routes IS 'False for a turn that only supports its session: no route counts in its score.';
COMMENT ON COLUMN memsense.packed_candidates.score_ranks IS '0, as relevances and redundancies are NaN: another chunk stood for its session.';
COMMENT ON COLUMN memsense.packed_candidates.rivals IS 'The hit it was closest to, or the chunk that stood for its session; 0: none.';
COMMENT ON COLUMN memsense.packed_candidates.steps IS 'What dropped it: 1 duplicate, 2 mmr, 3 session, 4 limit; 0: nothing.';
COMMENT ON COLUMN memsense.packed_candidates.hit_ranks IS '0: no hit.';
COMMENT ON COLUMN memsense.packed_candidates.shown_chunk_ids IS 'An element for each hit, by hit rank; 0: it was gone.';
COMMENT ON COLUMN memsense.packed_candidates.supported IS 'The positions of what stood for a session; the arrays after it have an element for each.';
