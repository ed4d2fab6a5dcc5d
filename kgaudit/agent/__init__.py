"""The agent: one loop, many policies."""
