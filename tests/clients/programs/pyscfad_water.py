"""PySCFAD: the Hartree-Fock energy of water and its nuclear gradient by differentiation, against PySCF's own analytic ones."""

from client import run
import jax
import numpy as np
import pyscf.gto
import pyscf.scf
from pyscfad import gto, scf

WATER = "O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692"


def program():
    jax.config.update("jax_enable_x64", True)

    def energy(molecule):
        return scf.RHF(molecule).kernel()

    molecule = gto.Mole(atom=WATER, basis="sto3g", verbose=0)
    molecule.build(trace_exp=False, trace_ctr_coeff=False)
    value, gradient = jax.value_and_grad(energy)(molecule)
    reference = pyscf.scf.RHF(pyscf.gto.M(atom=WATER, basis="sto3g", verbose=0)).run()
    return {
        "energy": (value, reference.e_tot, 1e-8),
        "gradient": (gradient.coords, reference.nuc_grad_method().run(verbose=0).de, 1e-5),
    }


if __name__ == "__main__":
    run(program)
