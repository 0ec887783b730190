-- How many entry endpoints a run found.
-- in: winners
SELECT count(DISTINCT endpoint_id) AS endpoints FROM winners
