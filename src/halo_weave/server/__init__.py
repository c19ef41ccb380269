"""The program as a server: the page, REST, WebSockets, MCP, and the Kobold protocol.

`running` starts it and `app` puts it together. `api` has the endpoints, `http` what all endpoints share, `live` the
sockets, `runtime` what runs behind them: engine, queue of turns, jobs, downloads.
"""
