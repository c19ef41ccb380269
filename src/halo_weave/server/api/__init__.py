"""REST: one module per kind of thing declares its endpoints; `shapes` is what travels, `openapi` describes it."""
