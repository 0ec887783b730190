"""Critical paths of microservice requests, from distributed traces."""

__version__ = "0.1.0"
