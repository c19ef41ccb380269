"""`halo-weave chat`: the loop, its slash commands, and the display of a streaming reply."""
