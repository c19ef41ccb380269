"""REST endpoints, one module per resource; `shapes` has the data types, `openapi` the description."""
