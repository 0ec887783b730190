-- One row per tree of the window with its latency band.
-- Ranks are exact, ties by trace id and root span id. A tree of rank r among n lies in the
-- band with lo < 100 r / n <= hi; compared as whole numbers (edges in millionths
-- of a percent), of 64 bits, because Spark numbers rows with 32.
-- Trees are ranked in buckets of latency, 20 a decade, and the trees of lower buckets counted
-- before them: so no endpoint is sorted whole, however many of the traces are its.
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
sorted AS (
    SELECT
        tree_id, endpoint_id, trace_id, root_span_id, start_us, latency_us, weight, error, spans,
        bucket,
        CAST(row_number() OVER (
            PARTITION BY endpoint_id, bucket ORDER BY latency_us, trace_id, root_span_id
        ) AS BIGINT) AS place
    FROM bucketed
)
SELECT sorted.*, edges.band
FROM sorted
JOIN placed ON sorted.endpoint_id = placed.endpoint_id AND sorted.bucket = placed.bucket
JOIN edges
    ON (placed.before + sorted.place) * 100000000 > edges.lo * placed.total
    AND (placed.before + sorted.place) * 100000000 <= edges.hi * placed.total
