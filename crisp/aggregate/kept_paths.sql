-- The critical paths of the kept trees, by call path and host.
-- in: paths (exploded), kept
SELECT
    kept.endpoint_id,
    kept.tree_id,
    paths.path_id,
    paths.host,
    paths.exclusive_us,
    paths.inclusive_us
FROM paths
JOIN kept ON paths.tree_id = kept.tree_id
