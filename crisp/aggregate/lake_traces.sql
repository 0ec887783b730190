-- Analysed trees of a run, each tree once, in any order.
-- in: traces (as mapped), winners
SELECT traces.*
FROM traces
JOIN winners ON traces.document = winners.document AND traces.tree_id = winners.tree_id
