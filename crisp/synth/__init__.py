"""A seeded generator of Jaeger traces like production's, with faults planted on demand."""

from crisp.synth.options import PUBLISHED, DefectRates, Fault, SynthOptions, parse_fault
from crisp.synth.writer import Written, generate, write

__all__ = [
    "PUBLISHED",
    "DefectRates",
    "Fault",
    "SynthOptions",
    "Written",
    "generate",
    "parse_fault",
    "write",
]
