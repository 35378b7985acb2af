'''What every page is built from.

How to write a page (`pages/<name>.py`; its title is already in `shell.SECTIONS`)::

    """Which attributes belong together?"""

    from pages._ui.shell import guard

    guard()

    from core.plots.dependencies import plot_groups         # result in, core.plots.Picture out
    from pages._ui import cache, figure, inputs, late, outputs, state

    stages = cache.stages()                                 # every stage of the design, each computed when asked for
    outputs.head("Which attributes belong together?", "One sentence under the question.", late.strip(stages))
    scenario = state.scenario()                             # every knob; state.table() is the table
    picture, controls = outputs.bench()                     # the figure, and 200 px of controls beside it
    with picture:
        with outputs.working("Measuring dependence", token=scenario.digest(), height=480) as progress:
            nmi = cache.stages(progress).nmi                # long work: how far it is, a stop, no jump
        figure.figure(
            plot_groups(nmi, scenario.tau_group),
            key="groups",
            on_drag=lambda values: state.update(tau_group=values["tau_group"]),
            on_pick=lambda point: state.set_option("group", point),
        )
    with controls:
        inputs.number("tau_group", digits=3)                # the twin of the handle, bound to the knob
        shown = inputs.choice(inputs.option("group", 0), options={0: "age +4", 1: "race"}, label="Group shown")
        outputs.key(("circle", "#AA4499", "age +4"), ("ring", "@neutral", "5 alone"))
    outputs.means("At **0.100** the 15 attributes form **8 groups**.")   # plain text, **bold** only
    outputs.tabs(numbers=frame, method="NMI ...", details=None, name="groups")
    late.finish_strip()

Rules: a page composes and never computes; colours come from `core.plots.palette`, numbers in sentences from
`core.plots.template.sig`, `percent` and `interval`; a name of the table goes through `escape` (and `shorten`) before it
enters a trace, an annotation or a tick; a key is used once on a page; nothing but `state` touches the session state or
the URL. `head` and `means` have fixed heights and a picture has one too, so nothing moves while one drags. The shell
shows a `CoreError` as its sentence; `outputs.guarded()` does so for a part of a page. A sentence for the top of the
page is `state.tell`, one in place is `outputs.remark`, a refusal `outputs.refusal`, and a page without its data shows
`outputs.empty(sentence, button, on_click)`.
'''
