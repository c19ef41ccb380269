"""Arguments of `halo-weave bench`: one module per question that the benchmarks answer, and one that lists them all."""
