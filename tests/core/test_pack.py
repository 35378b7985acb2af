"""The mechanism pack: the same law as here, verified without the project, refused when altered in any way."""

import ast
import csv
import inspect
import io
import itertools
import json
import math
import subprocess
import sys
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from core.certificate import certify
from core.errors import InputError
from core.metric import group_distance
from core.pack import build_pack, pack_json, perturb, read_pack, write_pack, zip_pack
from core.pipeline import Stages
from core.reading.cells import unique_names
from core.release import MergedStages, plan_release, release_table, to_csv, type_of
from core.sampling import ScriptedSource, draw
from core.scenario import AttributeSpec, Scenario
from core.table import load_sample, read_table, sample_scenario
from tests.core.test_sampling import SeededSource, exact_law

HEART = Path(__file__).resolve().parents[2] / "sample_data" / "heart.csv"
CSV = "age;=town;member;score;secret;when;grade\n" + "".join(
    f"{20 + i % 40};{('=cmd', 'Oslo', 'Rome')[i % 3]};{'' if i == 5 else ('yes', 'no')[i % 2]};"
    f"{str((i * 37 % 101) / 10).replace('.', ',')};s{i};2020-01-{1 + i % 28:02d};{i % 4}\n"
    for i in range(60)
)


def heart_stages(**changes):
    return Stages(load_sample("heart"), sample_scenario("heart").replace(rule="DPN", **changes))


@pytest.fixture(scope="module")
def plan():
    return plan_release(heart_stages())


@pytest.fixture(scope="module")
def pack(plan):
    return build_pack(plan, numeric="within")


def ugly(**changes):
    specs = (AttributeSpec(4, include=False), AttributeSpec(1, weight=2.5))
    scenario = Scenario(rule="DPN", epsilon=3.0, attributes=specs, **changes)
    return plan_release(Stages(read_table(CSV.encode()), scenario), unprotected=["secret"])


def altered(pack, change):
    """Return the file of a pack after a change, with a checksum that fits: only the mechanism can tell."""
    copy = json.loads(pack_json(pack))
    change(copy)
    return pack_json(copy | {"checksum": perturb.checksum(copy)})


def both_ways(plan, pack, content, seed=4):
    """Return the released CSV from here and from the pack under the same bits."""
    release = release_table(plan, SeededSource(seed), numeric=pack["numeric"])
    here = to_csv(release.frame, tuple(type_of(plan, c) for c in plan.leaving)).decode()
    mechanism = read_pack(pack_json(pack))
    rows = csv.reader(io.StringIO(content), delimiter=pack["csv"]["separator"])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(perturb.perturb_rows(mechanism, rows, SeededSource(seed).bits))
    return here, out.getvalue()


@pytest.mark.parametrize("numeric", ["representative", "within"])
def test_the_same_bits_give_the_same_table_there(plan, numeric):
    here, there = both_ways(plan, build_pack(plan, numeric=numeric), HEART.read_text())
    assert here == there
    assert here.count("\n") == 304


@pytest.mark.parametrize("changes", [{}, {"p": 1.0}, {"p": math.inf}, {"p": 3.0}, {"domain": "product"}])
def test_so_it_is_for_dates_commas_missing_values_weights_and_every_metric(changes):
    plan = ugly(**changes)
    here, there = both_ways(plan, build_pack(plan, numeric="within"), CSV)
    assert here == there
    assert here.splitlines()[0] == "age,'=town,member,score,secret,when,grade"


def test_the_integers_and_states_are_the_same_ones(plan, pack):
    mechanism = read_pack(pack_json(pack))
    for block, there in zip(plan.blocks, mechanism.blocks, strict=True):
        assert (np.array(there["weights"]) == block.channel.weights).all()
        assert (np.array(there["states"]) == block.domain.states).all()
        for levels in itertools.product(*(range(a.size) for a in block.attributes)):
            k = plan.blocks.index(block)
            assert mechanism.state(k, levels) == block.state_of(levels)[0]


def test_the_sampler_s_law_is_exact_over_all_strings():
    """The stand-alone draw on rows small enough to enumerate, and equal to ours string by string."""
    rows = [[1, 2, 5], [0, 8, 0], [3, 3, 2]]
    mechanism = object.__new__(perturb.Mechanism)
    mechanism.blocks, mechanism.sums, mechanism.total = [{"weights": rows}], [{}], 8
    for x, row in enumerate(rows):
        there, unfinished = exact_law(lambda source, x=x: mechanism.draw(0, x, source.bits))
        here, _ = exact_law(lambda source, x=x: draw(rows, [x], source)[0])
        assert unfinished == 0
        assert there == here == {y: Fraction(w, 8) for y, w in enumerate(row) if w}
    assert perturb.draw_below(5, ScriptedSource("111100").bits) == 4


def test_a_large_projection_is_searched_for_there(plan, pack):
    """Where no table of nearest states is stored the sampler finds the same ones."""
    mechanism = read_pack(pack_json(pack))
    for k, block in enumerate(plan.blocks):
        mechanism.blocks[k]["projection"] = None
        for levels in itertools.product(*(range(a.size) for a in block.attributes)):
            assert mechanism.state(k, levels) == block.state_of(levels)[0]


def test_epsilon_is_derived_as_the_certificate_has_it(plan, pack):
    mechanism = read_pack(pack_json(pack))
    for block, epsilon in zip(plan.blocks, mechanism.epsilons, strict=True):
        certified = block.channel.certified_epsilon
        # Their distances carry 60 digits, ours are rounded down to doubles: theirs is never larger.
        assert certified * (1 - 1e-12) <= epsilon <= certified


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_derived_distances_bound_the_certificate_s_from_above(p):
    plan = ugly(p=p)
    pack = build_pack(plan)
    for block in plan.blocks:
        attributes = [pack["attributes"][i] for i in block.members]
        metric = perturb.Metric(attributes, p)
        states = block.domain.states.tolist()
        ours = group_distance(block.domain.states, block.attributes, p)
        for x, z in itertools.combinations(range(len(states)), 2):
            there = float(metric.between(states[x], states[z]))
            assert ours[x, z] * (1 - 1e-15) <= there <= ours[x, z] * (1 + 1e-12)


def block_of(weights, epsilon):
    return {"states": [[x] for x in range(len(weights))], "weights": weights, "certified_epsilon": epsilon}


def nominal(size):
    return {
        "name": "a", "kind": "nominal", "levels": [str(i) for i in range(size)], "has_missing": False, "weight": 1.0,
        "edges": None, "distance": None,
    }  # fmt: skip


def test_one_unit_too_many_is_refused_and_at_the_bound_it_passes():
    """ln 3 at distance 1: the integers 3 to 1 fit the double above it, not the one below, and not with one more."""
    metric = perturb.Metric([nominal(2)], 2.0)
    unit = 1 << 56
    weights = [[3 * unit, unit], [unit, 3 * unit]]
    exact = certify(np.array(weights), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert perturb.derive_epsilon(block_of(weights, exact), metric) == exact
    assert perturb.derive_epsilon(block_of(weights, 2.0), metric) == pytest.approx(2.0, rel=1e-11)
    with pytest.raises(perturb.PackError):
        perturb.derive_epsilon(block_of(weights, math.nextafter(exact, 0)), metric)
    more = [[3 * unit + 64, unit - 64], weights[1]]
    with pytest.raises(perturb.PackError):
        perturb.derive_epsilon(block_of(more, exact), metric)
    assert Decimal(exact) >= Decimal(3).ln()


def test_zero_over_positive_and_constants():
    metric = perturb.Metric([nominal(3)], 2.0)
    assert perturb.derive_epsilon(block_of([[4, 0, 4]] * 3, 0.0), metric) == 0.0
    with pytest.raises(perturb.PackError, match="inf"):
        perturb.derive_epsilon(block_of([[4, 0, 4], [4, 1, 3], [4, 1, 3]], 50.0), metric)


def test_the_same_design_gives_the_same_bytes(plan, pack):
    again = build_pack(plan, numeric="within")
    assert pack_json(pack) == pack_json(again)
    assert zip_pack(pack) == zip_pack(again)
    with zipfile.ZipFile(io.BytesIO(zip_pack(pack))) as archive:
        assert archive.namelist() == ["mechanism.json", "perturb.py", "README.txt"]
        assert archive.read("mechanism.json") == pack_json(pack)
        assert b"not protected by epsilon" in archive.read("README.txt")


def test_no_record_count_prior_or_loss_is_in_it(plan, pack):
    known = {
        "attributes", "certified_epsilon", "checksum", "columns", "csv", "domain", "format", "groups", "made_with",
        "missing_tokens", "numeric", "p", "scenario", "statements", "total", "version",
    }  # fmt: skip
    assert set(pack) == known
    assert {key for g in pack["groups"] for key in g} == {
        "attributes", "blocks", "certified_epsilon", "choice", "epsilon", "mechanism"
    }  # fmt: skip
    assert {key for g in pack["groups"] for b in g["blocks"] for key in b} == {
        "attributes", "certified_epsilon", "projection", "states", "weights"
    }  # fmt: skip
    assert [c["role"] for c in pack["columns"]] == ["perturbed"] * 13 + ["withheld"]


def test_what_an_observed_domain_tells_is_said_and_merging_helps(plan, pack):
    assert any("seen fewer than 5 times" in s for s in pack["statements"])
    stages = heart_stages()
    merged = build_pack(plan_release(MergedStages(stages.table, stages.scenario), domain="merged"))
    assert not any("seen fewer than" in s for s in merged["statements"])
    assert any("combinations that occur" in s for s in merged["statements"])
    product = build_pack(plan_release(heart_stages(domain="product")))
    assert not any("combinations that occur" in s for s in product["statements"])
    assert any("leave WITHOUT protection" in s and "secret" in s for s in build_pack(ugly())["statements"])
    for made in (merged, product):
        assert read_pack(pack_json(made)).certified_epsilon <= 4.0


def test_a_huge_group_packs_attribute_by_attribute():
    plan = plan_release(heart_stages(tau_group=0.0, domain="product"))
    pack = build_pack(plan)
    assert len(pack["groups"]) == 1
    assert len(pack["groups"][0]["blocks"]) == 13
    assert len(pack_json(pack)) < 100_000
    here, there = both_ways(plan, pack, HEART.read_text())
    assert here == there


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_any_changed_byte_is_refused_by_the_checksum(pack):
    content = pack_json(pack).decode()
    for old, new in (('"numeric":"within"', '"numeric":"representative"'), ('"p":2.0', '"p":1.0')):
        assert old in content
        with pytest.raises(InputError, match="was altered"):
            read_pack(content.replace(old, new, 1))


def move(pack, amount):
    weights = pack["groups"][1]["blocks"][0]["weights"]
    weights[0][0] += amount
    weights[0][next(y for y in range(1, len(weights)) if weights[0][y] > amount)] -= amount


def declare_less(pack):
    for part in (pack["groups"][1], pack["groups"][1]["blocks"][0]):
        part["certified_epsilon"] *= 0.999


def overspend(pack):
    pack["certified_epsilon"] *= 0.999


def ask_less(pack):
    pack["scenario"]["epsilon"] = 1.0


def weigh_less(pack):
    """Smaller weights bring the records nearer together, so the same integers need more epsilon."""
    for attribute in pack["attributes"]:
        attribute["weight"] /= 4
    pack["scenario"]["attributes"] = [{"column": c, "weight": 0.25} for c in range(13)]


def lie_about_the_metric(pack):
    """An own matrix that the scenario does not declare."""
    attribute = pack["attributes"][1]
    attribute["distance"] = [[0.0, 9.0], [9.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pack: move(pack, 1 << 55), "do not satisfy the epsilon"),
        (declare_less, "do not satisfy the epsilon"),
        (weigh_less, "do not satisfy the epsilon"),
        (lie_about_the_metric, "does not fit its scenario"),
        (lambda pack: pack["attributes"][0].update(weight=4.0), "does not fit its scenario"),
        (lambda pack: pack.update(p=1.0), "do not fit its scenario"),
        (overspend, "together exceed"),
        (ask_less, "together exceed"),
    ],
)
def test_a_pack_that_lies_is_refused_though_its_checksum_fits(pack, change, words):
    with pytest.raises(InputError, match=words):
        read_pack(altered(pack, change))


def put(path, value):
    def change(pack):
        place = pack
        for step in path[:-1]:
            place = place[step]
        if value is KeyError:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put(["groups"], []),
        put(["groups"], KeyError),
        put(["groups", 0, "blocks", 0, "weights", 0, 0], 0.5),
        put(["groups", 0, "blocks", 0, "weights", 0, 0], -1),
        put(["groups", 0, "blocks", 0, "weights", 0, 0], True),
        put(["groups", 0, "blocks", 0, "weights"], []),
        put(["groups", 1, "blocks", 0, "states", 0], [0, 99]),
        put(["groups", 1, "blocks", 0, "states", 0], [0, 1]),
        put(["groups", 0, "blocks", 0, "attributes"], [1]),
        put(["groups", 0, "blocks", 0, "certified_epsilon"], "much"),
        put(["groups", 7, "blocks", 0, "projection", 0], 99),
        put(["attributes", 0, "edges"], None),
        put(["attributes", 0, "points", 0], 1e9),
        put(["attributes", 1, "kind"], 5),
        put(["attributes"], 7),
        put(["total"], 0),
        put(["total"], 1 << 70),
        put(["p"], 0.5),
        put(["p"], "two"),
        put(["csv"], None),
        put(["scenario"], []),
    ],
)
def test_a_damaged_pack_is_refused_with_one_sentence(pack, change):
    with pytest.raises(InputError, match=r"damaged|no metric table|do not satisfy"):
        read_pack(altered(pack, change))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not readable JSON"),
        (b"{", "not readable JSON"),
        (b"\xff\xfe\x00", "not readable JSON"),
        (b"[" * 100_000, "not readable JSON"),
        (b'{"p": NaN}', "not readable JSON"),
        (b'{"format": "mdp-explorer mechanism pack", "version": 1, "p": 1e999}', "was altered"),
        (b"[]", "no mechanism pack"),
        (b'{"format": "mdp-explorer mechanism pack", "version": 2}', "version 2"),
        (b'{"format": "mdp-explorer mechanism pack", "version": 1}', "was altered"),
    ],
)
def test_what_is_no_pack_is_refused(content, words):
    with pytest.raises(InputError, match=words):
        read_pack(content)


def places(value, path=()):
    """Yield the path of every value of a pack but those within long lists."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for i in range(min(len(value), 1)):
            yield from places(value[i], (*path, i))


def test_whatever_is_changed_nothing_but_a_sentence_comes_out():
    """Every part of a small pack replaced by values of other kinds: refused in a sentence, or still true."""
    pack = build_pack(ugly())
    refused = 0
    for path in list(places(pack))[1:]:
        for value in (None, "x", -0.5, [[1]]):
            content = altered(pack, put(list(path), value))
            try:
                mechanism = read_pack(content)
            except InputError as error:
                refused += 1
                assert str(error).endswith((".", ";"))
            else:
                assert 0 <= mechanism.certified_epsilon <= 3.0 or path[0] in ("certified_epsilon", "scenario")
    assert refused > 150


def test_columns_of_a_file_are_named_as_the_table_reader_names_them():
    raw = ["a", "", " b\n c ", "a", "a (2)", "a", "\ufeffd", "x" * 120, "a (2)"]
    assert perturb.name_columns(raw) == unique_names(raw)[0]


def test_a_pack_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_pack(tmp_path / "none.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_pack({"attributes": [], "statements": []}, tmp_path / "file" / "folder")


# ---- on its own ------------------------------------------------------------------------------------------------------


def run(folder, *arguments, text=None):
    return subprocess.run(
        [sys.executable, "-I", str(folder / "perturb.py"), "--pack", str(folder / "mechanism.json"), *arguments],
        cwd=folder, capture_output=True, text=True, check=False, input=text, timeout=60,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(pack, tmp_path_factory):
    place = tmp_path_factory.mktemp("pack")
    write_pack(pack, place)
    return place


def test_it_runs_alone_on_a_file(folder):
    done = run(folder, str(HEART), "out.csv")
    assert done.returncode == 0, done.stderr
    assert "Verified: epsilon" in done.stderr
    assert "303 records" in done.stderr
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == ",".join(HEART.read_text().splitlines()[0].split(",")[:-1])
    assert len(lines) == 304
    assert run(folder, str(HEART), "again.csv").returncode == 0
    assert (folder / "again.csv").read_text() != (folder / "out.csv").read_text()


def test_it_runs_alone_on_a_record(folder, pack):
    record = {a["name"]: a["values"][0] for a in pack["attributes"]}
    for arguments, text in ((("--record", json.dumps(record)), None), (("--record", "-"), json.dumps(record))):
        done = run(folder, *arguments, text=text)
        assert done.returncode == 0, done.stderr
        released = json.loads(done.stdout)
        assert list(released) == list(record)
        assert isinstance(released["age"], int)
    for bad, words in (("{", "not readable JSON"), ("[]", "JSON object"), ('{"age": 3}', "no column 'sex'")):
        done = run(folder, "--record", bad)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
    done = run(folder, "--record", json.dumps(record | {"age": "old"}))
    assert "'old' is no number" in done.stderr


def test_it_refuses_alone(folder, pack, tmp_path):
    write_pack(pack, tmp_path)
    (tmp_path / "mechanism.json").write_bytes(altered(pack, lambda copy: move(copy, 1 << 55)))
    done = run(tmp_path, str(HEART), "out.csv")
    assert done.returncode == 2
    assert "do not satisfy the epsilon" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    assert run(folder, str(HEART), str(HEART)).returncode == 2
    assert run(folder, "nothing.csv", "out2.csv").returncode == 2
    (folder / "short.csv").write_text("age\n3\n")
    done = run(folder, "short.csv", "out2.csv")
    assert "no column 'sex'" in done.stderr
    assert not (folder / "out2.csv").exists()


def test_values_outside_the_schema_count_to_the_nearest_and_are_told(pack):
    mechanism = read_pack(pack_json(pack))
    names = [a["name"] for a in pack["attributes"]]
    vessels, chest, age = (names.index(n) for n in ("major_vessels", "chest_pain", "age"))
    assert mechanism.code(vessels, "9", "Row") == 3
    assert mechanism.code(vessels, "", "Row") == len(pack["attributes"][vessels]["levels"]) - 1
    assert mechanism.code(chest, "unheard of", "Row") == 0
    assert mechanism.code(age, 200, "Row") == 4
    assert mechanism.code(age, None, "Row") is None
    assert mechanism.strange == {"major_vessels": 1, "chest_pain": 1}


def test_the_command_writes_a_pack_that_runs(tmp_path, capsys):
    from argparse import ArgumentParser

    from core.commands import pack as command

    parser = ArgumentParser()
    command.add_arguments(parser)
    scenario = tmp_path / "scenario.json"
    scenario.write_text(sample_scenario("heart").replace(rule="DPN").to_json(), encoding="utf-8")
    arguments = ["--sample", "heart", "--scenario", str(scenario), "--out", str(tmp_path / "out"), "--merge-rare"]
    assert command.run(parser.parse_args([*arguments, "--unprotected", "narrowing"])) == 0
    said = capsys.readouterr()
    assert said.out.split() == [str(tmp_path / "out" / n) for n in ("mechanism.json", "perturb.py", "README.txt")]
    assert "WITHOUT protection" in said.err
    done = run(tmp_path / "out", str(HEART), "released.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "released.csv").read_text().splitlines()[0].endswith(",narrowing")


def test_the_sampler_is_one_file_of_plain_python_3_9():
    text = inspect.getsource(perturb)
    tree = ast.parse(text, feature_version=(3, 9))
    imports = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([str(node.module)] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
    }
    assert imports <= set(sys.stdlib_module_names)
    assert "random" not in imports
    assert not any(isinstance(node, ast.keyword) and node.arg == "strict" for node in ast.walk(tree))
