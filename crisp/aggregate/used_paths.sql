-- The call paths that a mart speaks of.
-- in: call_paths, cct
SELECT DISTINCT call_paths.path_id, call_paths.parent_id, call_paths.depth, call_paths.endpoint_id
FROM call_paths
JOIN (SELECT DISTINCT path_id FROM cct) AS used ON call_paths.path_id = used.path_id
