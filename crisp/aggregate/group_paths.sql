-- The critical calling context tree of every day and version: sums, as in `cct`.
-- in: path_use, members
SELECT
    members.endpoint_id,
    members.kind,
    members.label,
    path_use.path_id,
    count(*) AS traces,
    sum(path_use.exclusive_us) AS exclusive_us
FROM path_use
JOIN members ON path_use.tree_id = members.tree_id
GROUP BY members.endpoint_id, members.kind, members.label, path_use.path_id
