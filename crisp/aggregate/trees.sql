-- One row per tree of the window with its latency band.
-- Ranks are exact, ties by trace id and root span id. A tree of rank r among n lies in the
-- band with lo < 100 r / n <= hi; compared as whole numbers (edges in millionths
-- of a percent), of 64 bits, because Spark numbers rows with 32.
-- in: traces, edges (band, lo, hi: edges times a million)   out: crisp.pipeline.marts.TREES
WITH ranked AS (
    SELECT
        tree_id, endpoint_id, trace_id, root_span_id, start_us, latency_us, weight, error, spans,
        CAST(row_number() OVER (
            PARTITION BY endpoint_id ORDER BY latency_us, trace_id, root_span_id
        ) AS BIGINT) AS place,
        count(*) OVER (PARTITION BY endpoint_id) AS total
    FROM traces
)
SELECT ranked.*, edges.band
FROM ranked
JOIN edges
    ON ranked.place * 100000000 > edges.lo * ranked.total
    AND ranked.place * 100000000 <= edges.hi * ranked.total
