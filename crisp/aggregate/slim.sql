-- Trees of the window without their nested columns.
-- in: traces
SELECT
    tree_id, endpoint_id, trace_id, root_span_id, start_us, latency_us, weight, error, spans,
    unique_endpoints, depth, concurrency, cp_spans, cp_endpoints
FROM traces
