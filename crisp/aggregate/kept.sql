-- Trees whose critical path is kept whole: of each endpoint as many as `limits` says, taken from
-- its bands in turn, the slowest band first, in each band by tree id. Ids are hashes, so this is
-- a random choice, yet the same every time; bands with few trees are kept whole.
-- Only the rows of the lowest buckets of ids are sorted, 2,048 in all: those that hold enough.
-- in: trees, versions, limits (kept)
WITH bucketed AS (
    SELECT
        *, CAST(floor(CAST(tree_id AS DOUBLE) / 9007199254740992.0) AS BIGINT) AS id_bucket
    FROM trees
),
counted AS (
    SELECT endpoint_id, band, id_bucket, count(*) AS here
    FROM bucketed
    GROUP BY endpoint_id, band, id_bucket
),
placed AS (
    SELECT
        endpoint_id,
        band,
        id_bucket,
        CAST(sum(here) OVER (
            PARTITION BY endpoint_id, band ORDER BY id_bucket
        ) AS BIGINT) - here AS before
    FROM counted
),
used AS (
    SELECT placed.endpoint_id, placed.band, placed.id_bucket
    FROM placed
    JOIN limits ON placed.before < limits.kept
),
in_band AS (
    SELECT
        bucketed.*,
        row_number() OVER (
            PARTITION BY bucketed.endpoint_id, bucketed.band ORDER BY bucketed.tree_id
        ) AS turn
    FROM bucketed
    JOIN used
        ON bucketed.endpoint_id = used.endpoint_id
        AND bucketed.band = used.band
        AND bucketed.id_bucket = used.id_bucket
),
in_turn AS (
    SELECT
        in_band.*,
        row_number() OVER (
            PARTITION BY in_band.endpoint_id ORDER BY in_band.turn, in_band.band DESC
        ) AS place
    FROM in_band
    JOIN limits ON in_band.turn <= limits.kept
)
SELECT
    in_turn.endpoint_id,
    in_turn.tree_id,
    in_turn.band,
    in_turn.trace_id,
    in_turn.root_span_id,
    in_turn.start_us,
    in_turn.latency_us,
    in_turn.error,
    coalesce(versions.version, '') AS version
FROM in_turn
JOIN limits ON in_turn.place <= limits.kept
LEFT JOIN versions ON in_turn.tree_id = versions.tree_id
