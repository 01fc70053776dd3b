#DEFVAR
TRACER  = IGNORE;  {passive tracer}
TRACER2 = IGNORE;  {second passive tracer}
