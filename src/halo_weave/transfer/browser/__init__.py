"""Reads exports of the browser Halo Weave and imports them into the memory."""
