-- Analysed trees as mapped, without their nested columns.
-- in: traces
SELECT
    date, document, tree_id, endpoint_id, trace_id, start_us, latency_us, spans, source, position
FROM traces
