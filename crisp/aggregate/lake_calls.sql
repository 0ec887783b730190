-- Calls between endpoints, one row a day, caller and callee.
-- in: calls (partial sums)
SELECT date, caller_id, endpoint_id, sum(spans) AS spans
FROM calls
GROUP BY date, caller_id, endpoint_id
