-- Traces. A trace belongs to the scope that was searched and goes with it; its candidates hold
-- numbers and ids only, so the one text of a user's in here is the question.

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

CREATE TABLE memsense.trace_candidates (
    tenant_id integer NOT NULL,
    trace_id uuid NOT NULL,
    position integer NOT NULL,
    scope_id integer NOT NULL,
    chunk_id bigint NOT NULL,
    granularity text NOT NULL CHECK (granularity IN ('turn', 'session')),
    routes text[] NOT NULL,
    ranks integer[] NOT NULL,
    scores double precision[] NOT NULL,
    weights double precision[] NOT NULL,
    contributions double precision[] NOT NULL,
    rrf_score double precision NOT NULL,
    memory_score double precision NOT NULL,
    base_score double precision NOT NULL,
    turn_support double precision NOT NULL,
    terms jsonb NOT NULL,
    session jsonb,
    final_score double precision NOT NULL,
    score_rank integer,
    relevance double precision,
    redundancy double precision,
    redundant_to bigint,
    mmr_score double precision,
    hit_rank integer,
    shown_chunk_id bigint,
    dropped_by text CHECK (dropped_by IN ('duplicate', 'mmr', 'session')),
    lost_to bigint,
    PRIMARY KEY (tenant_id, trace_id, position),
    FOREIGN KEY (tenant_id, trace_id) REFERENCES memsense.traces ON DELETE CASCADE,
    CHECK ((hit_rank IS NULL) <> (dropped_by IS NULL))
);

COMMENT ON TABLE memsense.traces IS 'Recorded searches: the question, what was asked for, every constant that ranked it, and how long each phase took.';
COMMENT ON TABLE memsense.trace_candidates IS 'Every candidate of a recorded search, chosen or not: its routes, every later step, and the step that dropped it.';
COMMENT ON COLUMN memsense.trace_candidates.base_score IS 'How much of rrf_score counts in final_score: all of it, or 0 for a turn that only supports its session.';
COMMENT ON COLUMN memsense.trace_candidates.terms IS 'What was added to the score, by name: memory_score, date.';
