-- All values whose percentiles are asked for, by endpoint: latencies of the window and of each day
-- of it, and the times of call paths; each with its bucket, of which a decade has 20.
-- kind: 0 latency in the window, 1 on a day, 2 exclusive time of a call path, 3 inclusive time.
-- part: 0, first microsecond of the day, call path.
-- in: trees, days (day, start_us, end_us), path_use   out: crisp.pipeline.marts.OBSERVED
WITH given AS (
    SELECT endpoint_id, 0 AS kind, CAST(0 AS BIGINT) AS part, latency_us AS value
    FROM trees
    UNION ALL
    SELECT trees.endpoint_id, 1 AS kind, days.start_us AS part, trees.latency_us AS value
    FROM trees
    JOIN days ON trees.start_us >= days.start_us AND trees.start_us < days.end_us
    UNION ALL
    SELECT endpoint_id, 2 AS kind, path_id AS part, exclusive_us AS value FROM path_use
    UNION ALL
    SELECT endpoint_id, 3 AS kind, path_id AS part, inclusive_us AS value FROM path_use
)
SELECT *, CAST(floor(20 * log10(CAST(value + 1 AS DOUBLE))) AS BIGINT) AS bucket FROM given
