-- Latency of every entry endpoint by UTC day of the window.
-- in: dated (trees of the window with their day)
SELECT
    endpoint_id,
    day,
    count(*) AS traces,
    percentile_cont(0.50) WITHIN GROUP (ORDER BY latency_us) AS p50_us,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_us) AS p95_us,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY latency_us) AS p99_us
FROM dated
GROUP BY endpoint_id, day
