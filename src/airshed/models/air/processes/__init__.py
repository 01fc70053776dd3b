"""Processes of the air-quality model, one file or folder each; `airshed.process` defines and discovers them."""
