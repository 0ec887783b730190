-- The critical calling context tree of every endpoint and band: sums, so bands add up.
-- Weighted sums are taken in decimals, so that they do not depend on the order of the rows.
-- in: path_use
SELECT
    endpoint_id,
    path_id,
    band,
    count(*) AS traces,
    CAST(sum(CAST(weight AS DECIMAL(38, 6))) AS DOUBLE) AS weight,
    sum(spans) AS spans,
    sum(exclusive_us) AS exclusive_us,
    sum(inclusive_us) AS inclusive_us,
    CAST(sum(CAST(weight * exclusive_us AS DECIMAL(38, 3))) AS DOUBLE) AS weighted_exclusive_us,
    CAST(sum(CAST(weight * inclusive_us AS DECIMAL(38, 3))) AS DOUBLE) AS weighted_inclusive_us,
    sum(failed) AS error_traces
FROM path_use
GROUP BY endpoint_id, path_id, band
