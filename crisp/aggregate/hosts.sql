-- What is known of the hosts that kept traces ran on.
-- in: hosts, kept_paths
SELECT DISTINCT hosts.host, hosts.service, hosts.attribute, hosts.value
FROM hosts
JOIN (SELECT DISTINCT host FROM kept_paths) AS used ON hosts.host = used.host
