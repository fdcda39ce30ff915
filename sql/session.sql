-- What recall needs of a connection; run once when the pool opens one.
-- Exact scans gain nothing from parallel workers or just-in-time compilation at these sizes, and
-- planning a recall costs more than running a stale plan; hnsw.* matters to promoted scopes only.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
-- Of the exact 80 nearest among 100,000, 600 finds 97.7% (on the hardest route) and 400 finds 95.9%,
-- with indexes built at ef_construction 200; at 64, 800 were needed for as much, a fifth slower.
SET hnsw.ef_search = 600;
SET hnsw.iterative_scan = relaxed_order;
