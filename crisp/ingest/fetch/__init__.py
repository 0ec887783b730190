"""Pull the traces of a day out of a Jaeger into the landing area."""
