"""The one figure component: draws a `Picture` in place, with handles, live previews, picks and downloads."""

from pages._ui.figure.component import figure, picked
from pages._ui.figure.files import prepare

__all__ = ["figure", "picked", "prepare"]
