-- All call paths of each tree with the sum of their durations; only those on the critical path
-- are known to have failed.
-- in: all_paths (exploded), summed   out: crisp.pipeline.cells
SELECT
    all_paths.tree_id,
    all_paths.path_id,
    all_paths.duration_us AS time_us,
    coalesce(summed.status, 0) AS status
FROM all_paths
LEFT JOIN summed
    ON all_paths.tree_id = summed.tree_id AND all_paths.path_id = summed.path_id
