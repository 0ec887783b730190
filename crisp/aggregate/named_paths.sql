-- Every call path, and who it is: to name those that changed.
-- in: call_paths, endpoint_names
SELECT call_paths.path_id, call_paths.parent_id, endpoint_names.service, endpoint_names.operation
FROM call_paths
JOIN endpoint_names ON call_paths.endpoint_id = endpoint_names.endpoint_id
