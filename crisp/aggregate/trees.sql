-- One row per tree of the window with its latency band.
-- Ranks are exact, ties by trace id and root span id. A tree of rank r among n lies in the
-- band with lo < 100 r / n <= hi; compared as whole numbers (edges in millionths
-- of a percent), of 64 bits, because Spark numbers rows with 32.
-- Trees are ranked in buckets of latency, 20 a decade, and the trees of lower buckets counted
-- before them: so no endpoint is sorted whole, however many of the traces are its.
-- The edges are counted from the start of each bucket first, so that there is one join with the
-- trees: DuckDB 2.0.0 breaks off with an internal error when the edges are joined after it.
-- in: traces, edges (band, lo, hi: edges times a million)   out: crisp.pipeline.marts.TREES
WITH bucketed AS (
    SELECT *, CAST(floor(20 * log10(CAST(latency_us + 1 AS DOUBLE))) AS BIGINT) AS bucket
    FROM traces
),
counted AS (
    SELECT endpoint_id, bucket, count(*) AS here FROM bucketed GROUP BY endpoint_id, bucket
),
placed AS (
    SELECT
        endpoint_id,
        bucket,
        CAST(sum(here) OVER (PARTITION BY endpoint_id) AS BIGINT) AS total,
        CAST(sum(here) OVER (PARTITION BY endpoint_id ORDER BY bucket) AS BIGINT) - here AS before
    FROM counted
),
limits AS (
    SELECT
        placed.endpoint_id,
        placed.bucket,
        edges.band,
        edges.lo * placed.total - placed.before * 100000000 AS lo,
        edges.hi * placed.total - placed.before * 100000000 AS hi
    FROM placed CROSS JOIN edges
),
sorted AS (
    SELECT
        tree_id, endpoint_id, trace_id, root_span_id, start_us, latency_us, weight, error, spans,
        bucket,
        CAST(row_number() OVER (
            PARTITION BY endpoint_id, bucket ORDER BY latency_us, trace_id, root_span_id
        ) AS BIGINT) AS place
    FROM bucketed
)
SELECT sorted.*, limits.band
FROM sorted
JOIN limits
    ON sorted.endpoint_id = limits.endpoint_id AND sorted.bucket = limits.bucket
    AND sorted.place * 100000000 > limits.lo
    AND sorted.place * 100000000 <= limits.hi
