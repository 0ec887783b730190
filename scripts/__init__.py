"""Helpers of the Makefile; not part of the package."""
