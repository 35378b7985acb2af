"""Rigorous lower bounds on the loss of every channel, from any multipliers at all."""

from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.solver.reductions import RatioRows

FloatArray = NDArray[np.float64]

_ULP: Final = 2.0**-52
_EXTRA_ROUNDINGS: Final = 8
"""Roundings per term besides the sum itself: the ratio (exp and its argument), the product, the difference."""


class DualBound:
    """Lower bounds for one set of rows and one budget; its matrices are made once.

    Parameters
    ----------
    rows : RatioRows
        Rows that every channel of the budget satisfies.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        self._rows = rows
        # What flows into every variable, out of it, and touches it as a tail: one product does all three.
        size, every, ones = rows.size, np.arange(len(rows)), np.ones(len(rows))
        place = np.concatenate([rows.head, size + rows.tail, 2 * size + rows.tail])
        values = np.concatenate([ones, rows.ratios(epsilon), ones])
        self._flows = sp.csr_array((values, (place, np.tile(every, 3))), shape=(3 * size, len(rows)))
        aux = rows.auxiliaries
        inflow, outflow = self._flows[:aux], self._flows[size : size + aux]
        self._aux_flows = sp.vstack([inflow, outflow], format="csr")
        degree = np.bincount(np.concatenate([rows.head, rows.tail]), minlength=rows.size)
        self._unit = ((degree + _EXTRA_ROUNDINGS) * _ULP)[:, None]
        self._guarded = np.flatnonzero(rows.head < rows.auxiliaries)

    def drain(self, multipliers: FloatArray) -> FloatArray:
        """Scale multipliers down until no auxiliary variable has a positive coefficient in B^T u.

        An auxiliary v_a >= 0 has no cost, so the Lagrangian is bounded by its states only where (B^T u)_a <= 0. The
        inflow of every auxiliary (rows with head a) is scaled to its outflow (rows with tail a). The rows between
        auxiliaries form no cycle, so this ends after as many passes as the longest chain.

        Parameters
        ----------
        multipliers : ndarray of float (r, m)
            One column per output; negative entries count as 0.

        Returns
        -------
        ndarray of float (r, m)
            Drained multipliers.
        """
        drained = np.maximum(multipliers, 0.0)
        aux = self._rows.auxiliaries
        if not aux:
            return drained
        head = self._rows.head[self._guarded]
        for _ in range(aux + 1):
            flows = self._aux_flows @ drained
            inflow, outflow = flows[:aux], flows[aux:]
            if (inflow <= outflow).all():
                break
            with np.errstate(over="ignore"):  # only shares below 1 are used
                share = outflow / np.maximum(inflow, np.finfo(float).tiny) * (1 - 4 * _ULP)
            drained[self._guarded] *= np.where(inflow > outflow, share, 1.0)[head]
        return drained

    def bound(self, costs: FloatArray, multipliers: FloatArray) -> float:
        """Return a proven lower bound on sum_x sum_y costs[x,y] Z[x,y] over all channels Z that satisfy the rows.

        LB = sum_x min_y (costs - B^T u_y)[x,y] for drained u >= 0, since every row of Z sums to 1. What is left of the
        auxiliaries' coefficients by rounding is paid for (an envelope of probabilities is at most 1), so are the float
        sums, and the result is rounded down and at least 0.

        Parameters
        ----------
        costs : ndarray of float (n, m)
            prior[x] * loss[x, y] >= 0.
        multipliers : ndarray of float (r, m)
            Any numbers; good ones come from a dual solution.
        """
        aux = self._rows.auxiliaries
        drained = self.drain(multipliers)
        into, out_of, any_out = (self._flows @ drained).reshape(3, self._rows.size, -1)
        flow, spread = into - out_of, into + any_out
        per_state = (costs - flow[aux:]).min(axis=1)
        rounding = (self._unit[aux:] * (costs + spread[aux:])).max(axis=1)
        rounding += len(costs) * _ULP * np.abs(per_state)
        leak = np.maximum(flow[:aux] + self._unit[:aux] * spread[:aux], 0.0)
        return max(0.0, float(per_state.sum() - rounding.sum() - leak.sum()))


def lower_bound(rows: RatioRows, epsilon: float, costs: FloatArray, multipliers: FloatArray) -> float:
    """Return `DualBound(rows, epsilon).bound(costs, multipliers)`."""
    return DualBound(rows, epsilon).bound(costs, multipliers)
