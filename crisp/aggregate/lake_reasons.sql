-- How many documents a run left out, by reason.
-- in: rejects
SELECT reason, count(*) AS documents FROM rejects GROUP BY reason
