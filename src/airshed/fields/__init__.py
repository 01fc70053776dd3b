"""The field registry: what every array of a model means, its unit and its shape, said once."""
