-- What memsense needs of a connection; run once when the pool opens one.
-- Exact scans gain nothing from parallel workers or just-in-time compilation at these sizes, and
-- planning a recall costs more than running a stale plan; hnsw.* matters to scopes with HNSW indexes only.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
SET hnsw.iterative_scan = relaxed_order;
-- Whatever the database's default: writers lock a scope and then read what the one before has written.
SET default_transaction_isolation = 'read committed';
