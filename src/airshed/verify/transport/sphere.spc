// Tracers that are carried over the sphere, see sphere.py.
#DEFVAR
HILLS      = IGNORE; {two Gaussian hills}
BELLS      = IGNORE; {two cosine bells on a background of 0.1}
CORRELATED = IGNORE; {a quadratic function of the bells}
CYLINDERS  = IGNORE; {two slotted cylinders on a background of 0.1}
UNIFORM    = IGNORE; {1 everywhere}
