-- Cells with the time of a client's side counted for the service it calls.
-- in: cells, charged   out: crisp.pipeline.cells
SELECT
    cells.tree_id,
    coalesce(charged.charged_id, cells.path_id) AS path_id,
    sum(cells.time_us) AS time_us,
    max(cells.status) AS status
FROM cells
LEFT JOIN charged ON cells.path_id = charged.path_id
GROUP BY cells.tree_id, coalesce(charged.charged_id, cells.path_id)
