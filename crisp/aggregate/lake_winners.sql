-- Of each analysed tree the copy that counts.
-- A trace may stand in several documents; the copy with most spans counts, ties go to the
-- longest, then to the first source and position, whatever order they were read in.
-- in: slim (traces as mapped, without their nested columns)
WITH ranked AS (
    SELECT
        date, document, tree_id, endpoint_id, spans,
        row_number() OVER (
            PARTITION BY tree_id
            ORDER BY spans DESC, latency_us DESC, start_us, source, position, document
        ) AS copy
    FROM slim
)
SELECT date, document, tree_id, endpoint_id, spans FROM ranked WHERE copy = 1
