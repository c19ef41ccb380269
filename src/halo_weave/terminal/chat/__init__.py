"""`halo-weave chat`: the loop, its slash commands, and how a reply is shown while it comes."""
