-- Latency of every entry endpoint by UTC day of the window.
-- in: trees, days (day, start_us, end_us)
SELECT
    trees.endpoint_id,
    days.day,
    count(*) AS traces,
    percentile_cont(0.50) WITHIN GROUP (ORDER BY trees.latency_us) AS p50_us,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY trees.latency_us) AS p95_us,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY trees.latency_us) AS p99_us
FROM trees
JOIN days ON trees.start_us >= days.start_us AND trees.start_us < days.end_us
GROUP BY trees.endpoint_id, days.day
