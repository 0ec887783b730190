-- Interior APIs ranked by what they cost all entry endpoints together (paper, section 4.6.2).
-- An endpoint is interior to a tree when it is not the tree's entry endpoint itself.
-- in: uses (endpoints of each tree with entry_id and weight), trees, endpoint_names
WITH whole AS (
    SELECT CAST(sum(CAST(weight * latency_us AS DECIMAL(38, 3))) AS DOUBLE) AS latency FROM trees
),
summed AS (
    SELECT
        endpoint_id,
        count(DISTINCT CASE WHEN cp_spans > 0 THEN entry_id END) AS entries,
        count(*) FILTER (WHERE cp_spans > 0) AS traces,
        count(*) AS traces_any,
        sum(spans) AS spans,
        sum(cp_spans) AS cp_spans,
        sum(exclusive_us) AS exclusive_us,
        sum(inclusive_us) AS inclusive_us,
        CAST(sum(CAST(weight * exclusive_us AS DECIMAL(38, 3))) AS DOUBLE) AS exclusive,
        CAST(sum(CAST(weight * inclusive_us AS DECIMAL(38, 3))) AS DOUBLE) AS inclusive
    FROM uses
    WHERE endpoint_id <> entry_id
    GROUP BY endpoint_id
)
SELECT
    row_number() OVER (
        ORDER BY summed.exclusive DESC, summed.entries DESC,
            endpoint_names.service, endpoint_names.operation
    ) AS place,
    summed.endpoint_id,
    endpoint_names.service,
    endpoint_names.operation,
    summed.entries,
    summed.traces,
    summed.traces_any,
    summed.spans,
    summed.cp_spans,
    summed.exclusive_us,
    summed.inclusive_us,
    summed.exclusive AS weighted_exclusive_us,
    CASE WHEN whole.latency > 0 THEN summed.exclusive / whole.latency ELSE 0 END
        AS exclusive_share,
    CASE WHEN whole.latency > 0 THEN summed.inclusive / whole.latency ELSE 0 END
        AS inclusive_share
FROM summed
JOIN endpoint_names ON summed.endpoint_id = endpoint_names.endpoint_id
CROSS JOIN whole
