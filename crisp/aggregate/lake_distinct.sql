-- Rows that several shards wrote, each once. Used for call_paths, endpoint_names and hosts.
-- in: rows
SELECT DISTINCT * FROM rows
