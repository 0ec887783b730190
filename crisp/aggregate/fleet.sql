-- One row per entry endpoint of the window.
-- in: trees, uses (endpoints of each tree, entry_id = its entry endpoint), endpoint_names
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
        percentile_cont(0.50) WITHIN GROUP (ORDER BY latency_us) AS p50_us,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_us) AS p95_us,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY latency_us) AS p99_us,
        max(latency_us) AS max_us
    FROM trees
    GROUP BY endpoint_id
)
SELECT
    summed.*,
    endpoint_names.service,
    endpoint_names.operation,
    top.endpoint_id AS top_endpoint_id,
    top.exclusive_us AS top_exclusive_us
FROM summed
JOIN endpoint_names ON summed.endpoint_id = endpoint_names.endpoint_id
JOIN top ON summed.endpoint_id = top.entry_id AND top.place = 1
