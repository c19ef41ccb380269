"""Serves an engine over the Kobold protocol with attention: `halo-weave engine serve`."""
