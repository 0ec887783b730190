-- Critical path of each tree by call path: hosts merged, the tree's band and endpoint beside.
-- in: paths (exploded), trees   out: crisp.pipeline.marts.PATH_USE
WITH summed AS (
    SELECT
        tree_id,
        path_id,
        sum(spans) AS spans,
        sum(exclusive_us) AS exclusive_us,
        sum(inclusive_us) AS inclusive_us,
        max(CASE WHEN error THEN 1 ELSE 0 END) AS failed,
        min(span_id) FILTER (WHERE place = 1) AS span_id
    FROM (
        SELECT *,
            row_number() OVER (
                PARTITION BY tree_id, path_id ORDER BY exclusive_us DESC, span_id
            ) AS place
        FROM paths
    ) AS placed
    GROUP BY tree_id, path_id
)
SELECT
    trees.endpoint_id,
    trees.band,
    summed.tree_id,
    summed.path_id,
    trees.weight,
    summed.spans,
    summed.exclusive_us,
    summed.inclusive_us,
    summed.failed,
    summed.span_id
FROM summed
JOIN trees ON summed.tree_id = trees.tree_id
