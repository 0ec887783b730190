-- The 50th, 95th and 99th percentile of what was observed, by endpoint.
-- Only those buckets are sorted that hold a wanted place: so no group is sorted whole, however
-- many of the traces are of one endpoint.
-- in: observed, wanted   out: crisp.pipeline.marts.PERCENTILES
WITH used AS (
    SELECT DISTINCT endpoint_id, kind, part, bucket FROM wanted WHERE hit = 1 AND lo < hi
),
sorted AS (
    SELECT
        observed.endpoint_id,
        observed.kind,
        observed.part,
        observed.bucket,
        observed.value,
        row_number() OVER (
            PARTITION BY observed.endpoint_id, observed.kind, observed.part, observed.bucket
            ORDER BY observed.value
        ) - 1 AS place
    FROM observed
    JOIN used
        ON observed.endpoint_id = used.endpoint_id
        AND observed.kind = used.kind
        AND observed.part = used.part
        AND observed.bucket = used.bucket
),
found AS (
    SELECT
        wanted.endpoint_id,
        wanted.kind,
        wanted.part,
        wanted.present,
        wanted.total,
        10 * wanted.q + wanted.side AS edge,
        wanted.hit * CASE WHEN wanted.lo = wanted.hi THEN wanted.lo ELSE sorted.value END AS value
    FROM wanted
    LEFT JOIN sorted
        ON wanted.endpoint_id = sorted.endpoint_id
        AND wanted.kind = sorted.kind
        AND wanted.part = sorted.part
        AND wanted.bucket = sorted.bucket
        AND wanted.place = sorted.place
),
edges AS (
    SELECT
        endpoint_id,
        kind,
        part,
        max(present) AS present,
        max(CAST((total - 1) * 50 % 100 AS DOUBLE)) / 100 AS part_50,
        max(CAST((total - 1) * 95 % 100 AS DOUBLE)) / 100 AS part_95,
        max(CAST((total - 1) * 99 % 100 AS DOUBLE)) / 100 AS part_99,
        coalesce(max(value) FILTER (WHERE edge = 500), 0) AS low_50,
        coalesce(max(value) FILTER (WHERE edge = 501), 0) AS high_50,
        coalesce(max(value) FILTER (WHERE edge = 950), 0) AS low_95,
        coalesce(max(value) FILTER (WHERE edge = 951), 0) AS high_95,
        coalesce(max(value) FILTER (WHERE edge = 990), 0) AS low_99,
        coalesce(max(value) FILTER (WHERE edge = 991), 0) AS high_99
    FROM found
    GROUP BY endpoint_id, kind, part
)
SELECT
    endpoint_id,
    kind,
    part,
    present,
    CASE WHEN part_50 = 0 THEN CAST(low_50 AS DOUBLE) ELSE low_50 + (high_50 - low_50) * part_50
    END AS p50_us,
    CASE WHEN part_95 = 0 THEN CAST(low_95 AS DOUBLE) ELSE low_95 + (high_95 - low_95) * part_95
    END AS p95_us,
    CASE WHEN part_99 = 0 THEN CAST(low_99 AS DOUBLE) ELSE low_99 + (high_99 - low_99) * part_99
    END AS p99_us
FROM edges
