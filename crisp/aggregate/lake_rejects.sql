-- Documents left out: those that could not be used, and those that another document repeats.
-- They have no day of their own and are filed under the last day of the run.
-- in: rejects (as mapped), slim, winners
WITH winning AS (
    SELECT DISTINCT document FROM winners
),
last_day AS (
    SELECT max(date) AS date FROM winners
),
repeated AS (
    SELECT slim.source, slim.position, slim.trace_id
    FROM slim
    LEFT JOIN winning ON slim.document = winning.document
    WHERE winning.document IS NULL
    GROUP BY slim.document, slim.source, slim.position, slim.trace_id
)
SELECT last_day.date, given.source, given.position, given.trace_id, given.reason, given.detail
FROM (
    SELECT source, position, trace_id, reason, detail FROM rejects
    UNION ALL
    SELECT
        source, position, trace_id,
        'duplicate-trace' AS reason,
        'the trace is analysed from another document' AS detail
    FROM repeated
) AS given
CROSS JOIN last_day
