-- Percentiles of each call path over all trees of its endpoint; absent counts as 0.
-- in: percentiles
SELECT
    endpoint_id,
    part AS path_id,
    max(present) AS traces,
    max(p50_us) FILTER (WHERE kind = 2) AS exclusive_p50_us,
    max(p95_us) FILTER (WHERE kind = 2) AS exclusive_p95_us,
    max(p99_us) FILTER (WHERE kind = 2) AS exclusive_p99_us,
    max(p50_us) FILTER (WHERE kind = 3) AS inclusive_p50_us,
    max(p95_us) FILTER (WHERE kind = 3) AS inclusive_p95_us,
    max(p99_us) FILTER (WHERE kind = 3) AS inclusive_p99_us
FROM percentiles
WHERE kind IN (2, 3)
GROUP BY endpoint_id, part
