-- Traces of the endpoints that changed, to choose examples from: of each endpoint those that say
-- most for themselves, and those in which its first changed path took longest, shortest, or failed.
-- in: trees, paths (exploded), wanted (endpoint_id, path_id; 0 for the endpoint itself), scores
WITH placed AS (
    SELECT
        paths.tree_id, paths.span_id, paths.exclusive_us, paths.error,
        row_number() OVER (
            PARTITION BY paths.tree_id ORDER BY paths.exclusive_us DESC, paths.span_id
        ) AS place
    FROM paths
    JOIN wanted ON paths.path_id = wanted.path_id
),
held AS (
    SELECT
        tree_id,
        sum(exclusive_us) AS time_us,
        max(CASE WHEN error THEN 1 ELSE 0 END) AS failed,
        min(span_id) FILTER (WHERE place = 1) AS span_id
    FROM placed
    GROUP BY tree_id
),
seen AS (
    SELECT
        trees.endpoint_id, trees.tree_id, trees.trace_id,
        coalesce(held.span_id, trees.root_span_id) AS span_id,
        trees.start_us, trees.latency_us,
        coalesce(held.time_us, 0) AS time_us,
        CASE
            WHEN wanted.path_id <> 0 THEN coalesce(held.failed, 0)
            WHEN trees.error THEN 1
            ELSE 0
        END AS failed,
        scores.p
    FROM trees
    JOIN wanted ON trees.endpoint_id = wanted.endpoint_id
    LEFT JOIN held ON trees.tree_id = held.tree_id
    LEFT JOIN scores ON trees.tree_id = scores.tree_id
),
ranked AS (
    SELECT
        seen.*,
        row_number() OVER (
            PARTITION BY endpoint_id ORDER BY coalesce(p, 2), latency_us DESC, tree_id
        ) AS by_p,
        row_number() OVER (PARTITION BY endpoint_id ORDER BY time_us DESC, tree_id) AS by_time,
        row_number() OVER (PARTITION BY endpoint_id ORDER BY time_us, latency_us, tree_id) AS by_least,
        row_number() OVER (
            PARTITION BY endpoint_id ORDER BY failed DESC, latency_us DESC, tree_id
        ) AS by_failed
    FROM seen
)
SELECT
    endpoint_id, trace_id, span_id, start_us, latency_us, time_us, failed = 1 AS failed, p
FROM ranked
WHERE by_p <= 20 OR by_time <= 20 OR by_least <= 20 OR by_failed <= 20
ORDER BY endpoint_id, trace_id, span_id
