-- Latency bands of every endpoint; bands without a tree are left out.
-- in: trees, edges
SELECT
    trees.endpoint_id,
    trees.band,
    CAST(min(edges.lo) AS DOUBLE) / 1000000 AS lo_percentile,
    CAST(max(edges.hi) AS DOUBLE) / 1000000 AS hi_percentile,
    count(*) AS traces,
    CAST(sum(CAST(trees.weight AS DECIMAL(38, 6))) AS DOUBLE) AS weight,
    min(trees.latency_us) AS lo_us,
    max(trees.latency_us) AS hi_us,
    sum(trees.latency_us) AS latency_us
FROM trees
JOIN edges ON trees.band = edges.band
GROUP BY trees.endpoint_id, trees.band
