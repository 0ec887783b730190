-- What was corrected or left out, by entry endpoint.
-- in: entries (ledger of each tree, exploded)
WITH ranked AS (
    SELECT *,
        row_number() OVER (
            PARTITION BY endpoint_id, entry ORDER BY amount_us DESC, spans DESC, trace_id
        ) AS place
    FROM entries
)
SELECT
    endpoint_id,
    entry,
    count(*) AS traces,
    sum(spans) AS spans,
    sum(amount_us) AS amount_us,
    max(trace_id) FILTER (WHERE place = 1) AS example
FROM ranked
GROUP BY endpoint_id, entry
