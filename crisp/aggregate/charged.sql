-- The call path that the time of a call path is counted for: that of the service it calls, when
-- it is a client's side of one call: its caller is of the same service, and it makes but one
-- call, to another service. The lake holds no span kinds; that is how a client span looks.
-- in: call_paths, endpoint_names   out: crisp.pipeline.cells
WITH named AS (
    SELECT call_paths.path_id, call_paths.parent_id, endpoint_names.service
    FROM call_paths
    JOIN endpoint_names ON call_paths.endpoint_id = endpoint_names.endpoint_id
),
calls AS (
    SELECT
        parent_id AS path_id, count(*) AS calls, min(path_id) AS callee_id,
        min(service) AS callee_service
    FROM named
    GROUP BY parent_id
)
SELECT
    named.path_id,
    CASE
        WHEN calls.calls = 1 AND calls.callee_service <> named.service
            AND callers.service = named.service THEN calls.callee_id
        ELSE named.path_id
    END AS charged_id
FROM named
LEFT JOIN calls ON named.path_id = calls.path_id
LEFT JOIN named AS callers ON named.parent_id = callers.path_id
