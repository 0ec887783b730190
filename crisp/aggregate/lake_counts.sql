-- What the map step counted, over all shards.
-- in: counts
SELECT
    coalesce(sum(read), 0) AS read,
    coalesce(sum(rejected), 0) AS rejected,
    coalesce(sum(filtered), 0) AS filtered,
    coalesce(sum(analysed), 0) AS analysed,
    coalesce(sum(bytes), 0) AS bytes
FROM counts
