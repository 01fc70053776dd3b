// One tracer, so that its transport alone is timed.
#DEFVAR
TRACER = IGNORE; {carried}
