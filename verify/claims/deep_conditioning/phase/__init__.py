"""Networks with biases at great depth: fixed points, the edge of chaos, diagrams."""
