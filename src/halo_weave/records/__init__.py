"""Values that travel between the rooms of the house: tokens, chunks and their keys, windows, notes, the memory tree.

A record that exists is sound: each checks itself when it is made. Records know no store, engine or window.
"""
