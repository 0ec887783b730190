-- The paper's figures 4.14 to 4.21, and how often an endpoint appears at all and on the path.
-- in: traces, uses, calls, bins (lo, hi)
WITH appearances AS (
    SELECT endpoint_id, sum(spans) AS spans, sum(cp_spans) AS cp_spans
    FROM uses
    GROUP BY endpoint_id
),
callers AS (
    SELECT endpoint_id, count(DISTINCT caller_id) AS callers FROM calls GROUP BY endpoint_id
),
observed AS (
    SELECT 'spans' AS metric, spans AS value FROM traces
    UNION ALL SELECT 'unique_endpoints' AS metric, unique_endpoints AS value FROM traces
    UNION ALL SELECT 'latency_us' AS metric, latency_us AS value FROM traces
    UNION ALL SELECT 'depth' AS metric, depth AS value FROM traces
    UNION ALL SELECT 'cp_spans' AS metric, cp_spans AS value FROM traces
    UNION ALL SELECT 'concurrency' AS metric, concurrency AS value FROM traces
    UNION ALL SELECT 'cp_endpoints' AS metric, cp_endpoints AS value FROM traces
    UNION ALL SELECT 'appearances' AS metric, spans AS value FROM appearances
    UNION ALL SELECT 'cp_appearances' AS metric, cp_spans AS value FROM appearances
    UNION ALL SELECT 'callers' AS metric, coalesce(callers.callers, 0) AS value
    FROM appearances
    LEFT JOIN callers ON appearances.endpoint_id = callers.endpoint_id
),
counted AS (
    SELECT metric, value, count(*) AS observations FROM observed GROUP BY metric, value
)
SELECT counted.metric, bins.lo, bins.hi, sum(counted.observations) AS count
FROM counted
JOIN bins ON counted.value >= bins.lo AND counted.value < bins.hi
GROUP BY counted.metric, bins.lo, bins.hi
