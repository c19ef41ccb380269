"""What we measure: one module or folder per `halo-weave bench` command, and what several of them share.

A figure that the project claims is printed by one of these commands, as a ratio of things measured in one run.
"""
