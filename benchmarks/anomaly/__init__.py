"""What anomaly detection finds, and what it cries wolf about: protocols P1 to P4."""
