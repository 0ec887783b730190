-- For each call path the traces to look at: where it holds the path longest.
-- in: path_use, trees, limits (exemplars)
WITH ranked AS (
    SELECT
        path_use.endpoint_id,
        path_use.path_id,
        path_use.tree_id,
        path_use.span_id,
        path_use.exclusive_us,
        row_number() OVER (
            PARTITION BY path_use.endpoint_id, path_use.path_id
            ORDER BY path_use.exclusive_us DESC, path_use.tree_id
        ) AS place
    FROM path_use
)
SELECT
    ranked.endpoint_id,
    ranked.path_id,
    ranked.place,
    trees.trace_id,
    ranked.span_id,
    trees.start_us,
    trees.latency_us,
    ranked.exclusive_us
FROM ranked
JOIN trees ON ranked.tree_id = trees.tree_id
JOIN limits ON ranked.place <= limits.exemplars
