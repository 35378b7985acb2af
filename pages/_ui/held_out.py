"""Held-out scores of the groups, computed once behind the picture and shared by the pages that show them."""

from collections.abc import Hashable

from core.pipeline import Progress, Stages
from core.plots.stability import Scores, score_held_out
from pages._ui import late, state

_NAME = "held_out"


def token(stages: Stages) -> Hashable:
    """Return what the profiles of the groups depend on: not the budget, nor the thresholds of the choice."""
    knobs = ("attributes", "target", "domain", "tau_group", "corrected_nmi", "p", "task", "contexts", "seed")
    return state.source(), stages.table.digest, stages.scenario.digest(*knobs)


def recall(stages: Stages) -> dict[str, Scores] | None:
    """Return the scores by kind, 'radial' and 'mse', or None while they are not known."""
    found: dict[str, Scores] | None = late.recall(_NAME, token(stages))
    return found


def finish(stages: Stages) -> None:
    """Compute them at the end of a page, if they are not known; any change that a person makes abandons that."""

    def score(progress: Progress) -> dict[str, Scores]:
        profiles, seed = stages.profiles, stages.scenario.seed
        return {kind: score_held_out(profiles, kind, seed, progress) for kind in ("radial", "mse")}

    late.finish(_NAME, token(stages), "Scoring held-out pairs", score)
