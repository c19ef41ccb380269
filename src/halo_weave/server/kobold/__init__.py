"""An engine as a server that speaks the Kobold protocol with attention: `halo-weave engine serve`."""
