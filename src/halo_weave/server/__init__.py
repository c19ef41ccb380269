"""The program as a server: the page, REST, WebSockets, MCP, and the Kobold protocol.

`running` starts the server and `app` assembles it. `api` has the endpoints, `http` the code that all endpoints share,
`live` the WebSockets, and `runtime` everything behind them: the engine, the turn queue, jobs and downloads.
"""
