"""Variational autoencoders of traces, for many endpoints at once (paper 4.6.4).

The only package that imports torch; whoever uses it imports it inside a function.
"""

from crisp.anomaly.vae.models import Sample, Vae, fit, thaw

__all__ = ["Sample", "Vae", "fit", "thaw"]
