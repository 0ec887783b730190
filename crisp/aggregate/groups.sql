-- Days and versions of every endpoint.
-- in: members
SELECT endpoint_id, kind, label, count(*) AS traces, sum(latency_us) AS latency_us
FROM members
GROUP BY endpoint_id, kind, label
