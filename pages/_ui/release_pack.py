"""The mechanism pack on the Release page: what it tells of the data, its download, how it is used."""

import html

import streamlit as st

from core.pack import build_pack, statements, zip_pack
from core.plots.release import explain_ledger, table_ledger
from core.projection import RARE
from core.release import ReleasePlan, count_rare
from pages._ui import outputs, state
from pages._ui import release_plan as about

_USE = """\
```
python3 perturb.py --pack mechanism.json input.csv output.csv
python3 perturb.py --pack mechanism.json --record '{"age": 54, ...}'
```
`mechanism.json` holds the schema, the metric, the states, the whole-number channels and their certificates.
`perturb.py` needs nothing but Python 3.9 or newer. It checks the checksum and derives epsilon anew from the whole
numbers before it draws, and refuses a pack that was altered.
"""


def pack(plan: ReleasePlan) -> None:
    """Draw the tab 'Mechanism pack'."""
    _warn(plan)
    numeric = str(state.option("release_numeric", "representative"))
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", key="pack_row"):
        st.download_button(
            "Download mechanism pack", data=lambda: zip_pack(build_pack(plan, numeric=numeric)),
            file_name="mechanism.zip", mime="application/zip", key="download_pack", on_click="ignore",
            icon=":material/download:", type="primary",
            help="A zip file of mechanism.json, its stand-alone sampler perturb.py, and a README.",
        )  # fmt: skip
        st.caption("Perturb records elsewhere, before they are collected: the data need not come here.")
    st.markdown(_USE)


def _warn(plan: ReleasePlan) -> None:
    """Say what the pack itself tells of the data, with a remedy."""
    rare = count_rare(plan, RARE)
    if rare:
        outputs.refusal(
            f"The states of this design are themselves data: **{rare:,} combinations** were seen fewer than {RARE} "
            "times, so whoever gets the pack learns that such people exist."
        )
        with st.container(horizontal=True, gap="small", key="remedies"):
            st.button(
                "Merge rare states", key="merge_states", on_click=_merge,
                help=f"States of fewer than {RARE} records count as their nearest neighbours, and the design is solved "
                "anew: more private, since no state tells of one person.",
            )  # fmt: skip
            st.button(
                "Use all combinations", key="all_states", on_click=lambda: state.update(domain="product"),
                help="States are all combinations of levels: the most private, since they tell nothing of which "
                "occur; larger domains cost more.",
            )  # fmt: skip
    elif plan.domain not in ("product", "declared"):
        outputs.remark(
            f"The states are combinations that occur in the table, each at least {RARE} times; the pack tells which "
            "occur. With all combinations it tells nothing of the kind."
            + (" The figures at the top are those before merging." if plan.domain == "merged" else "")
        )


def _merge() -> None:
    state.set_option("release_states", "merged")


def details(plan: ReleasePlan) -> None:
    """Draw the tab of what is and what is not guaranteed."""
    st.html("<ul>" + "".join(f"<li>{html.escape(s)}</li>" for s in statements(plan)) + "</ul>")


def ledger(plan: ReleasePlan) -> None:
    """Draw the tab 'Ledger'."""
    kept = about.ledger()
    outputs.remark(explain_ledger(kept, plan.metric_digest))
    if kept.entries:
        outputs.table(table_ledger(kept, plan.metric_digest), name="ledger")
    st.caption("The ledger is kept in memory for this session and this table; releases made elsewhere are not in it.")
