-- Critical path of each tree by call path, hosts merged, and where failures come from:
-- 0 sound, 1 a call it made on the critical path failed too, 2 it failed by itself.
-- in: paths (exploded), call_paths   out: crisp.pipeline.cells
WITH merged AS (
    SELECT
        tree_id,
        path_id,
        sum(exclusive_us) AS time_us,
        max(CASE WHEN error THEN 1 ELSE 0 END) AS failed
    FROM paths
    GROUP BY tree_id, path_id
),
below AS (
    SELECT DISTINCT merged.tree_id, call_paths.parent_id
    FROM merged
    JOIN call_paths ON merged.path_id = call_paths.path_id
    WHERE merged.failed = 1
)
SELECT
    merged.tree_id,
    merged.path_id,
    merged.time_us,
    CASE WHEN merged.failed = 0 THEN 0 WHEN below.tree_id IS NULL THEN 2 ELSE 1 END AS status
FROM merged
LEFT JOIN below ON merged.tree_id = below.tree_id AND merged.path_id = below.parent_id
