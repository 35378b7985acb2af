"""The import rule, read from the sources, and what depends on the process: core loads no interface."""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.limits import UPLOAD_LIMIT_MB
from core.plots import palette

ROOT = Path(__file__).resolve().parents[1]
INTERFACE = {"streamlit", "pages", "app", "tests", "scripts"}

# The named modules of core stand on layers; a module may reach its own layer and those before it, however indirectly.
# Modules without a name here are parts of a named one; what they import counts for whoever imports them.
LAYERS = (
    "errors limits scenario parallel sampling",
    "table domain metric",
    "dependence tasks",
    "losses surrogate adequacy",
    "linear_program solver channel certificate mechanisms",
    "curves envelopes allocation",
    "results pipeline",
    "evaluation pack report record_study",
    "commands",
    "__main__",
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer.split()}
TIERS_MAY_REACH = {"errors", "limits", "sampling", "tiers"}
TIERS_ARE_SHOWN_BY = RANK["evaluation"]
MAY_DRAW = {"plots", "commands", "__main__"}
"""The headless commands write figures; nothing that computes knows of any."""

Graph = dict[str, set[str]]


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of every module that a file imports, wherever in the file, but for type checkers' eyes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unread = {id(inner) for check in checks for statement in check.body for inner in ast.walk(statement)}
    for node in ast.walk(tree):
        if id(node) in unread:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_name(path: Path) -> str:
    words = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" and len(words) > 2 else words)


def import_graph() -> Graph:
    """Return, for every module of core, the modules of core that it imports."""
    files = {module_name(path): path for path in sources("core")}
    graph: Graph = {}
    for name, path in files.items():
        graph[name] = set()
        for dotted in imported(path):
            words = dotted.split(".")
            prefixes = [".".join(words[:k]) for k in range(len(words), 1, -1)]
            graph[name] |= {next((prefix for prefix in prefixes if prefix in files), name)} - {name}
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    found, waiting = set(), [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def part(module: str) -> str:
    return module.split(".")[1]


def violations(graph: Graph) -> list[str]:
    """Return every way in which a graph of imports breaks the rule, as sentences."""
    wrong = [f"{name} imports itself, through others" for name in graph if name in reachable(graph, name)]
    for name in graph:
        own, others = part(name), {part(other) for other in reachable(graph, name)}
        if own == "plots":
            continue
        if "plots" in others and own not in MAY_DRAW:
            wrong.append(f"{name} reaches plots")
        if own == "tiers":
            wrong += [f"{name} reaches {other}" for other in sorted(others - TIERS_MAY_REACH) if other in RANK]
            continue
        if "tiers" in others and RANK.get(own, -1) < TIERS_ARE_SHOWN_BY:
            wrong.append(f"{name} reaches tiers")
        above = [other for other in sorted(others) if own in RANK and RANK.get(other, -1) > RANK[own]]
        wrong += [f"{name} reaches {other}, which is above it" for other in above]
    return wrong


def test_imports_in_core_point_downwards() -> None:
    graph = import_graph()
    assert len(graph) > 20
    assert not violations(graph), "\n".join(violations(graph))


@pytest.mark.parametrize(
    "graph",
    [
        {"core.table": {"core.pipeline"}, "core.pipeline": set()},
        {"core.metric": {"core.part"}, "core.part": {"core.losses"}, "core.losses": set()},
        {"core.pipeline": {"core.plots.budget"}, "core.plots.budget": set()},
        {"core.evaluation.rows": {"core.plots.budget"}, "core.plots.budget": set()},
        {"core.evaluation.rows": {"core.commands.run"}, "core.commands.run": set()},
        {"core.plots.budget": {"core.commands.run"}, "core.commands.run": {"core.plots.budget"}},
        {"core.tiers.noise": {"core.channel"}, "core.channel": set()},
        {"core.losses": {"core.tiers.noise"}, "core.tiers.noise": set()},
        {"core.channel": {"core.certificate"}, "core.certificate": {"core.channel"}},
    ],
)
def test_the_rule_can_fail(graph: Graph) -> None:
    assert violations(graph)


def test_the_rule_lets_pass_what_it_should() -> None:
    down = {"core.pipeline": {"core.part"}, "core.part": {"core.table"}, "core.table": {"core.errors"}}
    beside = {"core.report": {"core.tiers.noise"}, "core.tiers.noise": {"core.errors"}}
    beside |= {"core.__main__": {"core.commands.run"}, "core.commands.run": {"core.plots.budget", "core.report"}}
    assert not violations(down | beside | {"core.plots.budget": {"core.pipeline"}, "core.errors": set()})


def test_core_names_no_interface() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {dotted}"
        for path in sources("core")
        for dotted in imported(path)
        if dotted.split(".")[0] in INTERFACE
    ]
    assert not wrong, "\n".join(wrong)


def test_importing_all_of_core_loads_no_interface() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sources("core")
        if path.name not in {"__main__.py", "__init__.py"}
    ]
    code = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        f"loaded = {{name.split('.')[0] for name in sys.modules}}\nprint(sorted(loaded & {INTERFACE!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_pages_never_import_each_other() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {dotted}"
        for path in sources("pages")
        for dotted in imported(path)
        if dotted.split(".")[0] == "pages" and dotted.split(".")[1:2] != ["_ui"]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("word", "owner"),
    [
        ("session_state", "state.py"),
        ("query_params", "state.py"),
        ("cache_data", "cache.py"),
        ("cache_resource", "cache.py"),
    ],
)
def test_one_module_owns_what_a_session_remembers(word: str, owner: str) -> None:
    users = {
        path.relative_to(ROOT / "pages").as_posix()
        for path in [*sources("pages"), ROOT / "app.py"]
        if path.name != "app.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == word
    }
    assert users <= {f"_ui/{owner}"}


def test_app_is_short_and_pages_start_with_the_guard() -> None:
    assert len((ROOT / "app.py").read_text().splitlines()) <= 60
    for path in (ROOT / "pages").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        assert calls, f"{path.name} does nothing"
        first = calls[0].value
        assert isinstance(first, ast.Call)
        assert ast.unparse(first) == "guard()", f"{path.name} does not begin with guard()"


def test_configuration_says_what_the_code_says() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    theme = settings["theme"]
    assert tuple(theme["chartCategoricalColors"]) == palette.CATEGORICAL
    assert tuple(theme["chartSequentialColors"]) == palette.SEQUENTIAL
    for name, colours in palette.THEMES.items():
        assert (theme[name]["textColor"], theme[name]["backgroundColor"]) == (colours.text, colours.background)
    assert settings["server"]["maxUploadSize"] == UPLOAD_LIMIT_MB
    assert settings["server"]["enableXsrfProtection"] is True
    assert settings["client"]["showErrorDetails"] == "none"
    assert settings["browser"]["gatherUsageStats"] is False
