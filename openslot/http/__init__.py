"""HTTP around the handlers: the edge, bodies, faults, headers, health and the API's description."""
