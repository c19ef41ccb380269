"""The benchmarks: one module or folder per `halo-weave bench` command, and the code that several of them share.

Each figure that the project claims is printed by one of these commands, as a ratio of things measured in one run.
"""
