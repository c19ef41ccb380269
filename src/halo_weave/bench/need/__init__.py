"""`halo-weave bench need`: the numbers of the need model, fitted and checked."""
