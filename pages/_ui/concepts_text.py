"""Formulas, symbols and sources of the concepts."""

from typing import Final

METHODS: Final = {
    "points": r"""
A mechanism $Z$ satisfies $\epsilon$-mDP when $Z[x, y] \le e^{\epsilon\, d(x, x')} Z[x', y]$ for all true values
$x, x'$ and every output $y$ (paper, section 3.1). The places 0 to 10 are one step apart. Geometric noise is
$Z[x, y] \propto w_y e^{-\epsilon |x-y|}$, the exponential mechanism $Z[x, y] \propto e^{-\epsilon |x-y| / 2}$; both are
integers here, and their certificate is computed from the integers. The window moves by $-1$, $0$ or $1$, all alike.
""",
    "channel": r"""
Nine probabilities $Z[x, y]$, 18 constraints $Z[x, y] \le e^{\epsilon\, d(x, x')} Z[x', y]$: every output $y$ compares
three bars in both directions. The grey range of a bar is what the other two bars of its output allow. Moving an entry
shares the rest of its row in proportion. The certificate is the smallest $\epsilon$ that all entries satisfy; a zero
over a positive number satisfies none. Mending takes the smallest table above this one that keeps the constraints and
rescales it, as every mechanism of a design is.
""",
    "line": r"""
States 1 to 7, one step apart; prior $\pi_x \propto e^{-3 t |x-3|}$ with the peak $t$; loss
$c[x, y] = (1-m)\,|x-y| + 3 m\,[x-y \text{ odd}]$ with the mismatch $m$. All channels are certified integers at the same
$\epsilon$. OPT is the linear programme over all $\epsilon$-mDP channels (problem 32 of the paper), shown with its
proven lower bound. On a line, remapped geometric noise is optimal for losses that grow with distance (Ghosh,
Roughgarden and Sundararajan, 2012). The score $S$ is the radial fit: the part of the loss that distance explains.
""",
    "remap": r"""
Remapping releases $\arg\min_z \sum_x \pi_x Z[x, y]\, c[x, z]$ in place of $y$ (Chatzikokolakis et al., 2017). Whatever
is computed from the output alone keeps $\epsilon$: if every output's probabilities are within
$e^{\epsilon d}$, so are sums of them. Columns are merged on the integers, and the certificate of the result is computed
anew.
""",
    "budgets": r"""
$\sum_k \epsilon_k d_k \le \|\epsilon\|_q \left(\sum_k d_k^p\right)^{1/p}$ with $1/p + 1/q = 1$ (Hölder; Theorem 1 of
the paper). So groups with budgets $\epsilon_k$ give the record $\|\epsilon\|_q$: with $p = 1$ the largest budget
counts, with $p = 2$ squares add up, with $p = \infty$ budgets add up.
""",
    "dice": r"""
Answer 1 keeps the truth with $k_1/6$; answer 2 keeps answer 1 with $k_2/6$, so it is true with
$(k_1 k_2 + (6-k_1)(6-k_2))/36$. An answer that is true with $t$ has the likelihood ratio $t/(1-t)$ and
$\epsilon = \ln\frac{t}{1-t}$. Chained, both answers together have the ratio of answer 1: die 2 is a post-processing
(multi-tier release). Drawn apart, equally accurate, the ratios multiply. All in exact fractions.
""",
    "stages": r"""
Stage 1 groups attributes whose normalised mutual information exceeds $\tau_{group}$; stage 2 measures each group's loss
and a surrogate of the total; stage 3 optimises a group when its domain is at most $\tau_{dim}$ and its score at most
$\tau_{dpn}$; stage 4 spends $\epsilon$ under $\|\epsilon\|_q \le \epsilon$ (Fig. 2 and sections 3.3 to 3.6 of the
paper). Bars: the group's part of the predicted loss, and its budget; the costliest groups are drawn.
""",
}
"""Markdown by concept."""
