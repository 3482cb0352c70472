"""HTTP around the handlers: the edge, routing, bodies, faults, headers, health and the API's description."""
