-- Documents left out, by reason, with an example of each.
-- in: rejects
WITH ranked AS (
    SELECT *,
        row_number() OVER (
            PARTITION BY reason ORDER BY source, position, trace_id, detail
        ) AS place
    FROM rejects
)
SELECT
    reason,
    count(*) AS documents,
    max(source) FILTER (WHERE place = 1) AS source,
    max(position) FILTER (WHERE place = 1) AS position,
    max(trace_id) FILTER (WHERE place = 1) AS trace_id,
    max(detail) FILTER (WHERE place = 1) AS detail
FROM ranked
GROUP BY reason
