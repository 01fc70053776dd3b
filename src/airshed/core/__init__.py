"""What every layer shares: constants, errors, units, shipped resources."""
