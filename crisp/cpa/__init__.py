"""Critical paths of a forest of spans: pure functions on columns (DESIGN section 6)."""
