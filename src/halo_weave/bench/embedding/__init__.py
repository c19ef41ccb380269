"""`halo-weave bench embedding`: what the reader costs beside the bundled embedder."""
