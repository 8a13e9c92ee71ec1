"""imgops beside its peers: cells as data, peers as adapters, turns, verdicts. `imgops bench --help` tells the rest.

Nothing of this is loaded with imgops; a peer is loaded when its first cell comes.
"""
