-- Where percentiles are to be found: of each group of observed values six places in buckets.
-- With n values the percentile q lies at place (n - 1) q of the sorted values, counted from 0,
-- between two of them linearly: the one at side 0 and the one at side 1. Trees without a call path
-- count as 0 for it, before all others; places among them are in no bucket, and hit is 0, but
-- for that the first bucket of a group is always there. How many trees an endpoint has its latencies
-- tell; a join with them would do as well, but makes DuckDB 2.0 fail ("dict-surviving cache").
-- in: observed   out: crisp.pipeline.marts.WANTED
WITH counted AS (
    SELECT endpoint_id, kind, part, bucket, count(*) AS here, min(value) AS lo, max(value) AS hi
    FROM observed
    GROUP BY endpoint_id, kind, part, bucket
),
placed AS (
    SELECT
        *,
        CAST(sum(here) OVER (PARTITION BY endpoint_id, kind, part) AS BIGINT) AS present,
        CAST(sum(here) OVER (
            PARTITION BY endpoint_id, kind, part ORDER BY bucket
        ) AS BIGINT) - here AS before
    FROM counted
),
sized AS (
    SELECT
        *,
        CASE WHEN kind IN (2, 3)
        THEN max(CASE WHEN kind = 0 THEN present END) OVER (PARTITION BY endpoint_id)
        ELSE present END AS total
    FROM placed
),
levels AS (
    SELECT 50 AS q, 0 AS side
    UNION ALL SELECT 50 AS q, 1 AS side
    UNION ALL SELECT 95 AS q, 0 AS side
    UNION ALL SELECT 95 AS q, 1 AS side
    UNION ALL SELECT 99 AS q, 0 AS side
    UNION ALL SELECT 99 AS q, 1 AS side
),
asked AS (
    SELECT
        sized.*,
        levels.q,
        levels.side,
        CAST(floor((sized.total - 1) * levels.q / 100.0) AS BIGINT) + levels.side
        - (sized.total - sized.present) - sized.before AS place
    FROM sized
    CROSS JOIN levels
)
SELECT
    endpoint_id, kind, part, bucket, present, total, q, side, lo, hi, place,
    CASE WHEN place >= 0 AND place < here THEN 1 ELSE 0 END AS hit
FROM asked
WHERE (place >= 0 AND place < here) OR before = 0
