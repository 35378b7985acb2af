"""Words of the interface: the name of every knob, the paper's symbol in its help, and which end means what."""

from dataclasses import dataclass
from typing import Final

SOURCES: Final = {"heart": "Heart", "adult": "Adult", "wine": "Wine", "upload": "Your upload"}
"""Data sets in the order of the picker."""


@dataclass(frozen=True)
class Words:
    """What the interface calls a knob.

    Parameters
    ----------
    label : str
        Plain words first, the symbol after.
    help : str
        One or two sentences with the paper's symbol.
    ends : pair of str or None
        What the low and the high end mean.
    options : tuple of (str, str)
        Word and plain name, in the order of the picker.
    """

    label: str
    help: str
    ends: tuple[str, str] | None = None
    options: tuple[tuple[str, str], ...] = ()


KNOBS: Final[dict[str, Words]] = {
    "epsilon": Words(
        "Privacy budget (epsilon)",
        "Total epsilon per unit of record distance: two records at distance d give any output with probabilities "
        "within a factor exp(epsilon d). Smaller is more private.",
        ("more private", "more useful"),
    ),
    "p": Words(
        "Metric exponent (p)",
        "Exponent of the record metric d_p, which combines the distances of the attributes; "
        "1 adds them, infinity takes the largest. With weights of 1 distances shrink as p grows, so at the same "
        "epsilon a larger p is more private.",
    ),
    "task": Words(
        "Task",
        "What the released table is for: the utility U whose loss is minimised. It changes no guarantee.",
        options=(
            ("frequency", "Frequency"),
            ("crowdsourcing", "Crowdsourcing"),
            ("entropy", "Entropy"),
            ("mean", "Mean"),
            ("prediction", "Prediction"),
        ),
    ),
    "target": Words(
        "Target column",
        "Column whose mean orders the votes of the crowdsourcing task, or that the prediction task predicts. "
        "It changes no guarantee.",
    ),
    "domain": Words(
        "States of a group",
        "Which combinations of levels a group's mechanism covers. Observed ones tell which occur; all combinations, or "
        "declared levels, are more private.",
        options=(("observed", "Observed"), ("product", "All combinations"), ("declared", "Declared")),
    ),
    "tau_group": Words(
        "Threshold (tau_group)",
        "Two attributes are linked where their normalised mutual information is above tau_group; "
        "groups are what is linked. The guarantee stays at epsilon.",
        ("fewer groups", "more groups"),
    ),
    "corrected_nmi": Words(
        "Correct for chance",
        "Use mutual information adjusted for chance instead of the plain NMI. It changes groups, not the guarantee.",
    ),
    "score": Words(
        "Score (S)",
        "How well the predefined noise fits the task: the radial-fit score, or closeness to the squared distance. "
        "It decides who is optimised, not the guarantee.",
        options=(("radial", "Radial fit"), ("mse", "MSE-likeness")),
    ),
    "tau_dim": Words(
        "Largest domain (tau_dim)",
        "Only groups with at most tau_dim states are optimised. It changes no guarantee.",
        ("faster", "more optimised"),
    ),
    "tau_dpn": Words(
        "Score threshold (tau_dpn)",
        "Only groups whose score is at most tau_dpn are optimised: the noise fits the others well enough. "
        "It changes no guarantee.",
        ("fewer optimised", "more optimised"),
    ),
    "rule": Words(
        "Rule",
        "How each group chooses its mechanism: predefined noise (DPN) or the optimal channel (OPT). The guarantee "
        "stays at epsilon. An optimal channel also tells of the data that it was fitted on.",
        options=(
            ("score", "By score"),
            ("regret", "By regret"),
            ("OPT", "All optimised"),
            ("DPN", "All noise"),
            ("tuned", "Least predicted loss"),
        ),
    ),
    "tau_regret": Words(
        "Regret threshold (r)",
        "Under the regret rule a group is optimised where OPT saves more than this share of the noise's loss. "
        "It changes no guarantee.",
        ("more optimised", "fewer optimised"),
    ),
    "noise": Words(
        "Predefined noise (DPN)",
        "The noise of groups that are not optimised; where line noise does not apply, calibrated EM stands in. "
        "None exceeds the group's epsilon; plain EM is often more private than it needs to be.",
        options=(
            ("EM", "Exponential (EM)"),
            ("calibrated EM", "Calibrated EM"),
            ("line noise", "Line noise"),
        ),
    ),
    "remap": Words(
        "Remapping (RMP)",
        "Bayesian remapping of the noise's outputs: a post-processing, so the certificate stays.",
        options=(("none", "None"), ("distance", "To the least distance"), ("task", "To the least task loss")),
    ),
    "allocation": Words(
        "Allocation",
        "Split of epsilon: by the dual-norm allocation (ALC), or equally (SPL). It changes no guarantee.",
        options=(("optimal", "Least loss"), ("uniform", "Uniform")),
    ),
    "refine": Words(
        "Refine to 1 %",
        "Builds further budgets around the allocation until the loss is within 1 % of the bound on any allocation. "
        "It changes no guarantee, only how closely the budget is spent.",
    ),
    "contexts": Words(
        "Sampled contexts",
        "Contexts per cell where a group's loss is sampled; more give smaller error bars. No guarantee depends on it.",
    ),
    "seed": Words(
        "Seed",
        "Seed of everything sampled while designing. No guarantee depends on it: releases use a cryptographic source.",
    ),
}
"""The words of every knob of a scenario."""
