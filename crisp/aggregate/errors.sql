-- Failed calls on the critical path: where errors begin, and where they are stopped.
-- A call's caller is the path above it in the same tree; that it is on the critical path too is
-- certain, because the walk only reaches a call through its caller.
-- in: path_use, call_paths
WITH failed AS (
    SELECT
        path_use.endpoint_id, path_use.tree_id, path_use.path_id, path_use.inclusive_us,
        call_paths.parent_id
    FROM path_use
    JOIN call_paths ON path_use.path_id = call_paths.path_id
    WHERE path_use.failed = 1
),
below AS (
    SELECT DISTINCT tree_id, parent_id FROM failed
),
judged AS (
    SELECT
        failed.*,
        CASE WHEN below.tree_id IS NULL THEN 0 ELSE 1 END AS from_below,
        CASE WHEN callers.tree_id IS NULL AND failed.parent_id <> 0 THEN 1 ELSE 0 END AS ended
    FROM failed
    LEFT JOIN below ON failed.tree_id = below.tree_id AND failed.path_id = below.parent_id
    LEFT JOIN failed AS callers
        ON failed.tree_id = callers.tree_id AND failed.parent_id = callers.path_id
)
SELECT
    endpoint_id,
    path_id,
    count(*) AS traces,
    sum(1 - from_below) AS own,
    sum(from_below) AS propagated,
    sum(ended) AS stopped,
    sum(ended * inclusive_us) AS stopped_us,
    sum(inclusive_us) AS failed_us
FROM judged
GROUP BY endpoint_id, path_id
