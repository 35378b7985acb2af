"""The live strip: how many groups, how many optimised, the predicted loss with its gap, the certificate."""

from core.pipeline import Stages
from core.plots.template import percent, sig
from pages._ui.outputs import Metric


def live_strip(stages: Stages) -> tuple[Metric, ...]:
    """Return the four metrics of the design, every number taken from it."""
    design = stages.design
    optimised = sum(choice == "OPT" for choice in design.choices)
    bound = "at most {} above the bound" if design.bound_certified else "about {} above the estimated bound"
    return (
        Metric("Groups (K)", str(len(design.groups)), f"of {len(stages.records.attributes)} attributes"),
        Metric("Optimised (OPT)", str(optimised), f"of {len(design.groups)}"),
        Metric("Predicted loss", sig(design.predicted_loss), bound.format(percent(design.gap))),
        Metric("Certified epsilon", sig(design.certified_epsilon), "per unit of distance"),
    )
