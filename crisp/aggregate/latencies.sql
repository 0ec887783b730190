-- Latency of every endpoint and band in buckets, 20 a decade.
-- in: trees
SELECT endpoint_id, band, bucket, count(*) AS traces
FROM trees
GROUP BY endpoint_id, band, bucket
