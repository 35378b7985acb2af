"""The headless door: files written, one sentence on bad input."""

import csv
import json
import math

import pandas as pd
import pytest

from core.__main__ import main
from core.evaluation import evaluate, reduced
from core.scenario import Scenario
from core.table import read_table, sample_scenario
from tests.core.evaluation.small_table import small_scenario, small_table


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    scenario = folder / "scenario.json"
    scenario.write_text(sample_scenario("heart").replace(epsilon=3.0).to_json(), encoding="utf-8")
    assert main(["run", "--sample", "heart", "--scenario", str(scenario), "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_design_json_tells_groups_choices_budgets_and_certificates(out):
    found = json.loads((out / "design.json").read_text(encoding="utf-8"))
    count = len(found["groups"])
    assert count > 1
    for name in ("choices", "mechanisms", "allocation", "certified_epsilons", "losses", "beta"):
        assert len(found[name]) == count
    norm = math.sqrt(sum(e**2 for e in found["certified_epsilons"]))
    assert norm <= found["certified_epsilon"] * (1 + 1e-12)
    assert found["certified_epsilon"] <= 3.0
    assert found["lower_bound"] <= found["predicted_loss"]
    assert Scenario.from_json(json.dumps(found["scenario"])).epsilon == 3.0


def test_curves_csv_holds_the_grid_and_the_allocated_points(out):
    design = json.loads((out / "design.json").read_text(encoding="utf-8"))
    with (out / "curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = [row for row in rows if row["allocated"] == "1"]
    assert [float(row["epsilon"]) for row in chosen] == design["allocation"]
    assert [float(row["upper"]) for row in chosen] == design["losses"]
    for row in rows:
        assert 0 <= float(row["lower"]) <= float(row["upper"])
        assert float(row["certified_epsilon"]) <= float(row["epsilon"]) or row["allocated"] == "1"
    for row in chosen:
        assert float(row["certified_epsilon"]) <= float(row["epsilon"])


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "not readable JSON"), ('{"epsilon": 900}', "1e-06 to 50"), ('{"format": 9}', "version 9")],
)
def test_a_bad_scenario_file_is_one_sentence(tmp_path, capsys, text, words):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    assert main(["run", "--sample", "heart", "--scenario", str(path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_one_sentence(tmp_path, capsys):
    assert main(["run", "--sample", "heart", "--scenario", str(tmp_path / "no"), "--out", str(tmp_path)]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_an_unprepared_table_runs_with_the_defaults(tmp_path):
    table = tmp_path / "own.csv"
    table.write_text("a;b\n" + "".join(f"{i % 3};{'xy'[i % 2]}\n" for i in range(60)), encoding="utf-8")
    assert main(["run", "--table", str(table), "--out", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "design.json").read_text(encoding="utf-8"))
    assert sorted(name for group in found["groups"] for name in group) == ["a", "b"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    (folder / "own.csv").write_text(small_table(80).frame.to_csv(index=False), encoding="utf-8")
    (folder / "scenario.json").write_text(small_scenario().to_json(), encoding="utf-8")
    return folder


def arguments(command, small, out):
    return [command, "--table", str(small / "own.csv"), "--scenario", str(small / "scenario.json"), "--out", str(out)]


def test_evaluate_writes_the_rows_that_the_function_returns(small, tmp_path, capsys):
    methods = ["SPL+DPN", "ALC+RMP", "DepHDP-m", "Bound-m", "zero information"]
    extra = ["--epsilons", "1,3", "--repeats", "2", "--methods", ",".join(methods)]
    assert main(arguments("evaluate", small, tmp_path) + extra) == 0
    found = pd.read_csv(tmp_path / "evaluation.csv", dtype={"loss": str})  # as written: pandas 2 rounds the last digit
    assert found.columns[:6].tolist() == ["method", "epsilon", "loss", "sd", "end_task", "lower_bound"]
    expected = evaluate(read_table(small / "own.csv"), small_scenario(), methods, (1, 3), repeats=2)
    assert [float(loss) for loss in found["loss"]] == expected["loss"].tolist()
    assert {"summary.csv", "attacker.csv", "figures.html"} <= {path.name for path in tmp_path.iterdir()}
    page = (tmp_path / "figures.html").read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot") >= 2
    assert "<script src=" not in page
    assert "evaluation.csv" in capsys.readouterr().out


def test_sweep_and_reduced_write_their_tables(small, tmp_path, monkeypatch):
    monkeypatch.setattr(reduced, "ANGLES", 5)
    quick = ["--epsilons", "2", "--repeats", "1"]
    assert main([*arguments("sweep", small, tmp_path / "s"), *quick, "--solve-limit", "0"]) == 0
    groups = pd.read_csv(tmp_path / "s" / "sweep_groups.csv")
    assert groups["tau_group"].nunique() == 21
    scores = pd.read_csv(tmp_path / "s" / "sweep_scores.csv")
    assert {"tau_dim", "tau_dpn", "loss", "run_time"} <= {*scores.columns}
    assert main([*arguments("reduced", small, tmp_path / "r"), "--epsilons", "2"]) == 0
    assert pd.read_csv(tmp_path / "r" / "reduced.csv")["method"].nunique() == 5


@pytest.mark.parametrize(
    ("extra", "words"), [(["--methods", "best"], "must be one of"), (["--task-file", "no.py"], "cannot be run")]
)
def test_a_bad_evaluation_is_one_sentence(small, tmp_path, capsys, extra, words):
    assert main([*arguments("evaluate", small, tmp_path / "out"), *extra]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
