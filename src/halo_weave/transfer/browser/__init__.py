"""The export of the browser Halo Weave: reading it, and taking it into the memory."""
