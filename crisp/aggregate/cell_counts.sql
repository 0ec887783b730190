-- How many cells and trees each share of an endpoint has.
-- in: cells
SELECT endpoint_id, part, count(*) AS cells, count(DISTINCT tree_id) AS traces
FROM cells
GROUP BY endpoint_id, part
