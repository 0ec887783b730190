"""The stages in order; the only package that knows them all."""
