{ A passive tracer: it reacts with nothing, so there is no equation file. }
#DEFVAR
TRACER = IGNORE; { of any substance; IGNORE: no atoms to balance }
