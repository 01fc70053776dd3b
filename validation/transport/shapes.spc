// Tracers of the Courant number experiment in study.py.
#DEFVAR
SMOOTH   = IGNORE; {Gaussian, standard deviation of five cells}
CYLINDER = IGNORE; {slotted cylinder}
ROUGH    = IGNORE; {random values over eight decades, half of the cells zero}
