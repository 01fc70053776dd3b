"""Transport and chemistry on groups of ranks of their own: who they are, and what moves species for others."""
