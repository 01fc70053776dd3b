"""Access to a server: limits, tokens and roles, requests for access, and control of sessions."""
