-- One row per entry endpoint of the window.
-- in: trees, uses (endpoints of each tree, entry_id = its entry endpoint), percentiles,
-- endpoint_names
WITH held AS (
    SELECT entry_id, endpoint_id, sum(exclusive_us) AS exclusive_us
    FROM uses
    GROUP BY entry_id, endpoint_id
),
top AS (
    SELECT
        entry_id, endpoint_id, exclusive_us,
        row_number() OVER (
            PARTITION BY entry_id ORDER BY exclusive_us DESC, endpoint_id
        ) AS place
    FROM held
),
summed AS (
    SELECT
        endpoint_id,
        count(*) AS traces,
        CAST(sum(CAST(weight AS DECIMAL(38, 6))) AS DOUBLE) AS weight,
        count(*) FILTER (WHERE error) AS errors,
        sum(spans) AS spans,
        min(start_us) AS first_us,
        max(start_us) AS last_us,
        sum(latency_us) AS latency_us,
        max(latency_us) AS max_us
    FROM trees
    GROUP BY endpoint_id
)
SELECT
    summed.*,
    percentiles.p50_us,
    percentiles.p95_us,
    percentiles.p99_us,
    endpoint_names.service,
    endpoint_names.operation,
    top.endpoint_id AS top_endpoint_id,
    top.exclusive_us AS top_exclusive_us
FROM summed
JOIN endpoint_names ON summed.endpoint_id = endpoint_names.endpoint_id
JOIN top ON summed.endpoint_id = top.entry_id AND top.place = 1
JOIN percentiles ON summed.endpoint_id = percentiles.endpoint_id AND percentiles.kind = 0
