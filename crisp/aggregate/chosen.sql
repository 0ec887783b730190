-- Trees whose vectors are wanted, parted into shares of at most most.traces for each endpoint.
-- Tree ids are hashes, so the share 0 is a random sample that is the same every time.
-- in: traces, excluded (days of endpoints that are left out), most   out: crisp.pipeline.cells
WITH kept AS (
    SELECT
        traces.endpoint_id, traces.tree_id, traces.start_us, traces.latency_us,
        traces.trace_id, traces.root_span_id, traces.error,
        row_number() OVER (PARTITION BY traces.endpoint_id ORDER BY traces.tree_id) AS place
    FROM traces
    LEFT JOIN excluded
        ON traces.endpoint_id = excluded.endpoint_id
        AND traces.start_us >= excluded.start_us AND traces.start_us < excluded.end_us
    WHERE excluded.endpoint_id IS NULL
)
SELECT
    kept.endpoint_id, kept.tree_id, kept.start_us, kept.latency_us, kept.trace_id,
    kept.root_span_id, kept.error AS failed,
    CAST(floor((kept.place - 1) / most.traces) AS BIGINT) AS part
FROM kept
CROSS JOIN most
