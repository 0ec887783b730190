-- Latency of every entry endpoint by UTC day of the window.
-- in: percentiles, days (day, start_us, end_us)
SELECT
    percentiles.endpoint_id,
    days.day,
    percentiles.present AS traces,
    percentiles.p50_us,
    percentiles.p95_us,
    percentiles.p99_us
FROM percentiles
JOIN days ON percentiles.part = days.start_us
WHERE percentiles.kind = 1
