-- Percentiles of each call path over all trees of its endpoint; absent counts as 0.
-- With n trees the percentile q lies at place (n - 1) q of the sorted values, counted from 0,
-- between two of them linearly. Of these the first n - m are the zeros of the trees without
-- the path, so only the m present values are ranked.
-- in: path_use, trees
WITH totals AS (
    SELECT endpoint_id, count(*) AS total FROM trees GROUP BY endpoint_id
),
long AS (
    SELECT endpoint_id, path_id, 'exclusive' AS which, exclusive_us AS value FROM path_use
    UNION ALL
    SELECT endpoint_id, path_id, 'inclusive' AS which, inclusive_us AS value FROM path_use
),
placed AS (
    SELECT
        long.endpoint_id,
        long.path_id,
        long.which,
        long.value,
        totals.total,
        count(*) OVER (PARTITION BY long.endpoint_id, long.path_id, long.which) AS present,
        totals.total
        - count(*) OVER (PARTITION BY long.endpoint_id, long.path_id, long.which)
        + row_number() OVER (
            PARTITION BY long.endpoint_id, long.path_id, long.which ORDER BY long.value
        ) - 1 AS place
    FROM long
    JOIN totals ON long.endpoint_id = totals.endpoint_id
),
levels AS (
    SELECT 50 AS q UNION ALL SELECT 95 AS q UNION ALL SELECT 99 AS q
),
around AS (
    SELECT
        placed.endpoint_id,
        placed.path_id,
        placed.which,
        levels.q,
        max(placed.present) AS present,
        max(CAST((placed.total - 1) * levels.q % 100 AS DOUBLE)) / 100 AS part,
        coalesce(max(placed.value) FILTER (
            WHERE placed.place = CAST(floor((placed.total - 1) * levels.q / 100.0) AS BIGINT)
        ), 0) AS low,
        coalesce(max(placed.value) FILTER (
            WHERE placed.place = CAST(floor((placed.total - 1) * levels.q / 100.0) AS BIGINT) + 1
        ), 0) AS high
    FROM placed
    CROSS JOIN levels
    GROUP BY placed.endpoint_id, placed.path_id, placed.which, levels.q
),
valued AS (
    SELECT
        endpoint_id, path_id, which, q, present,
        CASE WHEN part = 0 THEN CAST(low AS DOUBLE) ELSE low + (high - low) * part END AS value
    FROM around
)
SELECT
    endpoint_id,
    path_id,
    max(present) AS traces,
    max(value) FILTER (WHERE which = 'exclusive' AND q = 50) AS exclusive_p50_us,
    max(value) FILTER (WHERE which = 'exclusive' AND q = 95) AS exclusive_p95_us,
    max(value) FILTER (WHERE which = 'exclusive' AND q = 99) AS exclusive_p99_us,
    max(value) FILTER (WHERE which = 'inclusive' AND q = 50) AS inclusive_p50_us,
    max(value) FILTER (WHERE which = 'inclusive' AND q = 95) AS inclusive_p95_us,
    max(value) FILTER (WHERE which = 'inclusive' AND q = 99) AS inclusive_p99_us
FROM valued
GROUP BY endpoint_id, path_id
