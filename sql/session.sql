-- What recall needs of a connection; run once when the pool opens one.
-- Exact scans gain nothing from parallel workers or just-in-time compilation at these sizes, and
-- planning a recall costs more than running a stale plan; hnsw.* matters to promoted scopes only.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
-- 800 finds 97 to 99.9% of the exact 80 nearest among 100,000; 200 finds 89 to 98%, hardly faster.
SET hnsw.ef_search = 800;
SET hnsw.iterative_scan = relaxed_order;
