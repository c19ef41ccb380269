"""The messages of the Kobold protocol with attention, shared by our client and our server; docs/wire-protocol.md."""
