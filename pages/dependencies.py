"""Which attributes belong together: the dependence graph, the exact staircase, and the groups."""

from pages._ui.shell import guard

guard()

from collections.abc import Hashable, Sequence
from typing import Final

import streamlit as st

from core.pipeline import Stages
from core.plots.dependencies import HEIGHT, explain_pair, plot_groups, strongest_partner, tau_digits
from core.plots.graph import NAME_LENGTH, Dependence, build_graph, settle, short_names
from core.plots.grouping import count_large, explain_groups, group_label, smallest_affordable, table_groups
from core.plots.joint import plot_joint_small
from core.plots.pairs import plot_joint, plot_matrix, table_pairs
from core.plots.palette import group_colour
from pages._ui import cache, compare, figure, inputs, late, outputs, state

KEY_ROWS: Final = 8
METHOD: Final = r"""
**Normalised mutual information** of two attributes, from the joint counts of their levels (section 3.3):
$I_{ij} = 2\,\mathrm{MI}(X_i, X_j) / (H(X_i) + H(X_j))$, from 0 (independent) to 1 (one tells the other).
Two attributes are linked where $I_{ij} > \tau_\text{group}$; groups are the connected components. They change only at
the weights of the maximum spanning tree, so the staircase is exact. The **noise floor** is the largest NMI that
independent attributes with these level frequencies show in 95 % of tables of this size, by permuting every column;
**corrected for chance** is the adjusted mutual information (hypergeometric expectation, arithmetic mean).
"""


def _token() -> Hashable:
    scenario = state.scenario()
    return state.table().digest, scenario.digest("attributes", "target", "domain", "seed")


def _view(stages: Stages) -> Dependence:
    """Return what is drawn; positions come from the plain NMI and are computed once per table."""
    names = tuple(a.name for a in stages.records.attributes)
    graph = late.recall("graph", _token())
    if graph is not None:
        st.empty()  # stands where the progress stood, so that the figure stays the second element and is not drawn anew
    else:
        with outputs.working("Measuring dependence", token=str(_token()), height=HEIGHT) as progress:
            plain = cache.stages(progress, scenario=state.scenario().replace(corrected_nmi=False))
            graph = build_graph(
                plain.nmi, plain.staircase, names=names, levels=plain.records.sizes, chance=plain.rough_floor
            )
        late.keep("graph", _token(), graph)
    corrected = state.scenario().corrected_nmi
    floor = None if corrected or late.recall("floor", _token()) is None else stages.noise_floor
    return Dependence(names, stages.records.sizes, stages.nmi, stages.staircase, graph, floor, corrected)


def _picked(stages: Stages) -> tuple[int, ...]:
    """Return the attributes clicked last, by position; they are remembered by column, as an address names them."""
    positions = {attribute.column: i for i, attribute in enumerate(stages.records.attributes)}
    pair = tuple(positions.get(column, -1) for column in state.option("pair") or ())
    return pair if len(pair) == 2 and min(pair) >= 0 else ()


def _keep(stages: Stages, pair: Sequence[int]) -> None:
    state.set_option("pair", tuple(stages.records.attributes[i].column for i in pair))


def _pick(view: Dependence, stages: Stages, chosen: list[int]) -> None:
    partner = strongest_partner(view.nmi, chosen[0])
    _keep(stages, chosen if len(chosen) == 2 or partner is None else (chosen[0], partner))


def _controls(view: Dependence, stages: Stages) -> None:
    inputs.number("tau_group", digits=tau_digits(state.scenario().tau_group))
    inputs.toggle("corrected_nmi")
    short = short_names(view.names, NAME_LENGTH)
    many = sorted((g for g in stages.groups if len(g) > 1), key=len, reverse=True)
    rows = [("circle", group_colour(g), group_label([short[i] for i in g])) for g in many[:KEY_ROWS]]
    if len(many) > KEY_ROWS:
        rows.append(("circle", "@neutral", f"{len(many) - KEY_ROWS} more groups"))
    if len(many) < len(stages.groups):
        rows.append(("ring", "@neutral", f"{len(stages.groups) - len(many)} alone"))
    if len(view.graph.places) < len(view.names):
        hidden = len(view.names) - len(view.graph.places)
        rows.append(
            ("dot", "@neutral", f"{len(view.graph.edges):,} strongest links drawn; {hidden} names under the pointer")
        )
    outputs.key(*rows)
    if pair := _picked(stages):
        outputs.key(("ring", "@neutral", explain_pair(view, pair)))
        figure.figure(plot_joint_small(stages.records, (pair[0], pair[1])), key="joint_small")


def _joint(view: Dependence, stages: Stages) -> None:
    if len(view.names) < 2:
        st.html('<p class="means">There is only one attribute.</p>')
        return
    pair = _picked(stages) or next(iter(view.staircase.edges), (0, 1))
    with st.container(horizontal=True, gap="medium"):
        for slot, label in enumerate(("Attribute", "Other attribute")):
            inputs.choice(
                inputs.Cell(f"pair_{slot}", pair[slot], lambda i, slot=slot: _swap(stages, pair, slot, i)),
                options=dict(enumerate(view.names)),
                key=f"pair_{slot}_{state.table().digest[:8]}_{len(view.names)}",
                label=label,
                help="Two attributes whose levels are counted together; a click on a link or a node chooses them too.",
            )
    if pair[0] != pair[1]:
        figure.figure(plot_joint(stages.records, (pair[0], pair[1])), key="joint")


def _swap(stages: Stages, pair: tuple[int, ...], slot: int, attribute: int) -> None:
    now = list(_picked(stages) or pair)
    now[slot] = attribute
    _keep(stages, now)


stages = cache.stages() if state.has_table() else None
outputs.head(
    "Which attributes belong together?",
    "Attributes that share information are perturbed as one group. "
    "Drag the threshold: links below it fade, groups fall apart.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
compare.beside()
scenario = state.scenario()
main, controls = outputs.bench()
with main:
    view = _view(stages)
    figure.figure(
        plot_groups(view, scenario.tau_group, picked=_picked(stages)),
        key="dependence",
        on_drag=lambda values: state.update(tau_group=settle(stages.staircase, values["tau_group"])),
        on_pick=lambda chosen: _pick(view, stages, chosen),
    )
with controls:
    _controls(view, stages)
domains = [stages.domain(members) for members in stages.groups]
remedy = None
if count_large(domains, scenario.tau_dim):
    step = smallest_affordable(
        stages.records, stages.staircase, tau=scenario.tau_group, limit=scenario.tau_dim, mode=scenario.domain
    )
    remedy = scenario.tau_dim, step
outputs.means(explain_groups(domains, stages.group_names, tau=scenario.tau_group, floor=view.floor, remedy=remedy))
outputs.tabs(
    first=compare.tabs("groups")
    | {
        "Groups": lambda: outputs.table(
            table_groups(domains, stages.group_names, tau_dim=scenario.tau_dim), name="groups"
        ),
        "Heatmap": lambda: figure.figure(plot_matrix(view, stages.groups), key="matrix"),
        "Joint counts": lambda: _joint(view, stages),
    },
    numbers=table_pairs(view, scenario.tau_group),
    method=METHOD,
    name="dependences",
)
late.finish("floor", _token(), "Estimating the noise floor", lambda progress: cache.stages(progress).noise_floor)
late.finish_strip()
compare.finish()
