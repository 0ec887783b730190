-- The version of the service that served the root of a tree, as its host tells it.
-- A host that ran several versions in the window, or several services of different versions, tells
-- none; of two tags that name a version, service.version is the one that OpenTelemetry defines.
-- in: paths (exploded), call_paths, hosts   out: crisp.pipeline.marts.VERSIONS
WITH named AS (
    SELECT host, attribute, min(value) AS version, count(DISTINCT value) AS versions
    FROM hosts
    WHERE attribute IN ('service.version', 'version') AND value <> ''
    GROUP BY host, attribute
),
told AS (
    SELECT
        host, version, row_number() OVER (PARTITION BY host ORDER BY attribute) AS place
    FROM named
    WHERE versions = 1
),
roots AS (
    SELECT DISTINCT path_id FROM call_paths WHERE depth = 1
)
SELECT DISTINCT paths.tree_id, told.version
FROM paths
JOIN roots ON paths.path_id = roots.path_id
JOIN told ON paths.host = told.host AND told.place = 1
