"""Code that all of our HTTP servers share: endpoint declarations, security, thread pools, connection limits."""
