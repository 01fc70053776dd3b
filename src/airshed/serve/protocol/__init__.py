"""Documents, messages and binary frames that the server and its clients exchange."""
