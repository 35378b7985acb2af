"""Result in, `Picture` out: every figure of the app, in one template with one colour per concept."""

from core.plots.interaction import Components, Condition, Fade, Handle, Region, Ride, Sides
from core.plots.template import Picture

__all__ = ["Components", "Condition", "Fade", "Handle", "Picture", "Region", "Ride", "Sides"]
