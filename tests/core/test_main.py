"""The headless door: files written, one sentence on bad input."""

import csv
import json
import math

import pytest

from core.__main__ import main
from core.scenario import Scenario
from core.table import sample_scenario


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
