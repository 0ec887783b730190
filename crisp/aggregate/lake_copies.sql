-- How many analysed trees are copies of another one.
-- in: slim, winners
SELECT given.trees - kept.trees AS copies
FROM (SELECT count(*) AS trees FROM slim) AS given
CROSS JOIN (SELECT count(*) AS trees FROM winners) AS kept
