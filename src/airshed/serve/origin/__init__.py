"""Origins: the sources of a concentration of a session, by the adjoint of its run in a process of its own."""
