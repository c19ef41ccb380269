"""The messages of the Kobold protocol with attention, shared by our client and server; see docs/wire-protocol.md."""
