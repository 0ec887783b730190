-- The version of the service that served the root of a tree, as its process on that host tells it.
-- Of two tags that name a version service.version counts, which OpenTelemetry defines. A service
-- that ran several versions on one host in the window tells none there.
-- in: paths (exploded), call_paths, endpoint_names, hosts
-- out: crisp.pipeline.marts.VERSIONS
WITH named AS (
    SELECT
        host, service, attribute, min(value) AS version, count(DISTINCT value) AS versions,
        row_number() OVER (PARTITION BY host, service ORDER BY attribute) AS place
    FROM hosts
    WHERE attribute IN ('service.version', 'version') AND value <> ''
    GROUP BY host, service, attribute
),
told AS (
    SELECT host, service, version FROM named WHERE place = 1 AND versions = 1
),
roots AS (
    SELECT DISTINCT call_paths.path_id, endpoint_names.service
    FROM call_paths
    JOIN endpoint_names ON call_paths.endpoint_id = endpoint_names.endpoint_id
    WHERE call_paths.depth = 1
)
SELECT DISTINCT paths.tree_id, told.version
FROM paths
JOIN roots ON paths.path_id = roots.path_id
JOIN told ON paths.host = told.host AND roots.service = told.service
