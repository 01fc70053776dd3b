"""Chemistry of independent cells on the CPU: the generated solver and its calls."""
