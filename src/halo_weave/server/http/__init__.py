"""What every HTTP server of ours shares: declared endpoints, security, lanes of threads, limits on connections."""
