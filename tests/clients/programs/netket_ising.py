"""NetKet: the transverse-field Ising chain's energy by variational Monte Carlo, samples sharded over all devices, against
SciPy's Lanczos; and the exact sum over states of the same ansatz.
"""

from client import run
import jax
import netket as nk
import numpy as np
import scipy.sparse.linalg

SITES, FIELD = 6, 1.0


def ising():
    chain = nk.graph.Chain(SITES, pbc=True)
    hilbert = nk.hilbert.Spin(s=0.5, N=SITES)
    return hilbert, nk.operator.IsingJax(hilbert, graph=chain, h=FIELD, J=-1.0)


def exact():
    """Built here from Pauli matrices, not by NetKet."""
    x, z = np.array([[0, 1], [1, 0]]), np.diag([1.0, -1.0])
    at = lambda m, i: np.kron(np.kron(np.eye(2**i), m), np.eye(2 ** (SITES - 1 - i)))
    h = sum(-FIELD * at(x, i) - at(z, i) @ at(z, (i + 1) % SITES) for i in range(SITES))
    return scipy.sparse.linalg.eigsh(h, k=1, which="SA")[0][0]


def program():
    hilbert, hamiltonian = ising()
    sampler = nk.sampler.MetropolisLocal(hilbert, n_chains=16)
    state = nk.vqs.MCState(
        sampler, nk.models.RBM(alpha=1, param_dtype=float), n_samples=512, seed=1, sampler_seed=2
    )
    driver = nk.driver.VMC_SR(hamiltonian, nk.optimizer.Sgd(0.1), variational_state=state, diag_shift=0.01)
    driver.run(80, out=None, show_progress=False)
    sampled = state.expect(hamiltonian)
    summed = nk.vqs.FullSumState(hilbert, state.model, variables=jax.device_get(state.variables)).expect(
        hamiltonian
    )
    lowest = exact()
    return {
        "sampled": (np.real(sampled.mean), lowest, 0.15),
        "summed": (np.real(summed.mean), lowest, 0.1),
        "above": (np.real(summed.mean) >= lowest - 1e-6, True, 0),
    }


if __name__ == "__main__":
    run(program)
