"""The step in reverse: compiled adjoints of what the code of a step does, made on demand and apart from it."""
