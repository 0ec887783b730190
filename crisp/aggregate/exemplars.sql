-- For each call path the traces to look at: where it holds the path longest.
-- Only the rows of the highest buckets of time, 20 a decade, are sorted: those that hold enough.
-- in: path_use, trees, limits (exemplars)
WITH bucketed AS (
    SELECT
        endpoint_id, path_id, tree_id, span_id, exclusive_us,
        CAST(floor(20 * log10(CAST(exclusive_us + 1 AS DOUBLE))) AS BIGINT) AS bucket
    FROM path_use
),
counted AS (
    SELECT endpoint_id, path_id, bucket, count(*) AS here
    FROM bucketed
    GROUP BY endpoint_id, path_id, bucket
),
placed AS (
    SELECT
        endpoint_id,
        path_id,
        bucket,
        CAST(sum(here) OVER (
            PARTITION BY endpoint_id, path_id ORDER BY bucket DESC
        ) AS BIGINT) - here AS above
    FROM counted
),
used AS (
    SELECT placed.endpoint_id, placed.path_id, placed.bucket
    FROM placed
    JOIN limits ON placed.above < limits.exemplars
),
ranked AS (
    SELECT
        bucketed.*,
        row_number() OVER (
            PARTITION BY bucketed.endpoint_id, bucketed.path_id
            ORDER BY bucketed.exclusive_us DESC, bucketed.tree_id
        ) AS place
    FROM bucketed
    JOIN used
        ON bucketed.endpoint_id = used.endpoint_id
        AND bucketed.path_id = used.path_id
        AND bucketed.bucket = used.bucket
)
SELECT
    ranked.endpoint_id,
    ranked.path_id,
    ranked.place,
    trees.trace_id,
    ranked.span_id,
    trees.start_us,
    trees.latency_us,
    ranked.exclusive_us
FROM ranked
JOIN trees ON ranked.tree_id = trees.tree_id
JOIN limits ON ranked.place <= limits.exemplars
