"""The field registry: what every field of a model means, its unit and its shape, said once."""
