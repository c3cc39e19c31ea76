// Everything it would bring is in cuda_prelude.h.
