-- Which groups a tree belongs to besides its band: its UTC day, and the version that served it.
-- A window of one day has no days to compare, so `days` is empty then.
-- in: trees, days (day, start_us, end_us), versions   out: crisp.pipeline.marts.MEMBERS
SELECT trees.endpoint_id, trees.tree_id, trees.latency_us, 'day' AS kind, days.day AS label
FROM trees
JOIN days ON trees.start_us >= days.start_us AND trees.start_us < days.end_us
UNION ALL
SELECT
    trees.endpoint_id, trees.tree_id, trees.latency_us, 'version' AS kind,
    versions.version AS label
FROM trees
JOIN versions ON trees.tree_id = versions.tree_id
