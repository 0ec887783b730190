-- One row a tree and call path, with what is known of the tree.
-- in: chosen, cells   out: crisp.pipeline.cells
SELECT
    chosen.endpoint_id, chosen.part, chosen.tree_id, chosen.start_us, chosen.latency_us,
    chosen.trace_id, chosen.root_span_id, chosen.failed, cells.path_id, cells.time_us, cells.status
FROM chosen
JOIN cells ON chosen.tree_id = cells.tree_id
