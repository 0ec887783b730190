"""From bytes of trace documents to forests of spans (DESIGN section 5)."""
