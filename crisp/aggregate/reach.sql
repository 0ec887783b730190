-- Entry endpoints on whose critical path an interior endpoint is, those it costs most first.
-- in: uses (endpoints of each tree with entry_id), trees, limits (reach)
WITH whole AS (
    SELECT endpoint_id, sum(latency_us) AS latency_us FROM trees GROUP BY endpoint_id
),
summed AS (
    SELECT endpoint_id, entry_id, count(*) AS traces, sum(exclusive_us) AS exclusive_us
    FROM uses
    WHERE endpoint_id <> entry_id AND cp_spans > 0
    GROUP BY endpoint_id, entry_id
),
ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY endpoint_id ORDER BY exclusive_us DESC, entry_id
        ) AS place
    FROM summed
)
SELECT
    ranked.endpoint_id,
    ranked.entry_id,
    ranked.place,
    ranked.traces,
    ranked.exclusive_us,
    whole.latency_us
FROM ranked
JOIN limits ON ranked.place <= limits.reach
JOIN whole ON ranked.entry_id = whole.endpoint_id
