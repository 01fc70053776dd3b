"""The processes of the air-quality model, a file or a folder each; `airshed.process` defines and finds them."""
