"""Speed and memory, measured; each benchmark prints one table."""
