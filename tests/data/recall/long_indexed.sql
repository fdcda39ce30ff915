-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- rarest: as in long.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
-- vec_full: as in indexed.sql
-- vec_user: as in indexed.sql
-- vec_assistant: as in indexed.sql
-- facet_personal_info: as in indexed.sql
-- facet_events: as in indexed.sql
-- known: as in long.sql
-- unknown: as in long.sql
-- nearby: as in long.sql
-- terms: as in long.sql
-- drivers: as in one_user.sql
-- postings: as in one_user.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, sessions, session_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM facet_events
)
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
-- state: as in long.sql
-- answer: as in one_user.sql
