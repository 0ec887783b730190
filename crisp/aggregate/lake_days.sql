-- What a run wrote, by day. A trace counts on the day of its first tree.
-- in: winners
WITH documents AS (
    SELECT document, min(date) AS date FROM winners GROUP BY document
),
analysed AS (
    SELECT date, count(*) AS analysed FROM documents GROUP BY date
),
trees AS (
    SELECT date, count(*) AS trees, sum(spans) AS spans FROM winners GROUP BY date
)
SELECT trees.date, coalesce(analysed.analysed, 0) AS analysed, trees.trees, trees.spans
FROM trees
LEFT JOIN analysed ON trees.date = analysed.date
