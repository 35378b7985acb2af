"""Counts in chunks against the table in memory: the same attributes, dependence and priors, exactly."""

import gzip

import numpy as np
import pandas as pd
import pytest

from core import chunk_reading, chunked
from core.chunked import count_chunks, describe_columns
from core.dependence import compute_nmi, joint_counts
from core.domain import build_group_domain, build_records
from core.errors import InputError
from core.scenario import AttributeSpec, Scenario
from core.table import SAMPLE_DIRECTORY, load_sample, read_table

ROWS = 3_000


@pytest.fixture(scope="module")
def frame():
    """Every type of column; the rarest level, the extremes and the only missing cells come late."""
    rng = np.random.default_rng(5)
    town = rng.choice(["Bern", "Chur", "Thun"], ROWS).astype(object)
    town[ROWS - 2] = "Aarau"
    grade = np.clip(np.round(3 + rng.normal(size=ROWS) + (town == "Bern")), 1, 6).astype(int)
    income = np.round(rng.gamma(2.0, 900.0, ROWS) + 500.0 * grade, 2)
    income[-1] = 99_999.25
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    phone = np.array([f"0{i}" for i in rng.integers(1, 6, ROWS)], dtype=object)
    age = rng.integers(18, 90, ROWS).astype(float)
    town[ROWS - 5], age[ROWS - 7], income[ROWS - 9] = None, np.nan, np.nan
    return pd.DataFrame({"town": town, "grade": grade, "income": income, "day": day, "phone": phone, "age": age})


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False, sep=";")
    frame.to_parquet(folder / "t.parquet", row_group_size=700)
    return {form: folder / f"t.{form}" for form in ("csv", "csv.gz", "parquet")}


def described(**changes):
    specs = {
        0: AttributeSpec(0, include=True, kind="nominal"),
        1: AttributeSpec(1, include=True, kind="ordinal"),
        2: AttributeSpec(2, include=True, kind="numeric", bins=7),
        3: AttributeSpec(3, include=True, kind="numeric", bins=4),
        4: AttributeSpec(4, include=True, kind="nominal"),
        5: AttributeSpec(5, include=True, kind="numeric", edges=(10.0, 30.0, 50.0, 95.0)),
    } | changes.pop("specs", {})
    return Scenario(attributes=tuple(specs.values()), **changes)


def assert_same(counts, records, scenario, groups=((0,), (0, 2), (1, 3, 4), (0, 1, 2, 5))):
    assert counts.rows == len(records)
    assert len(counts.attributes) == len(records.attributes)
    for mine, other in zip(counts.attributes, records.attributes, strict=True):
        assert (mine.name, mine.column, mine.kind, mine.levels, mine.has_missing) == (
            other.name, other.column, other.kind, other.levels, other.has_missing
        )  # fmt: skip
        assert np.array_equal(mine.distance, other.distance)
        assert (mine.edges is None) == (other.edges is None)
        assert mine.edges is None or np.array_equal(mine.edges, other.edges)
    assert counts.nmi.tobytes() == compute_nmi(records.codes).tobytes()
    for i in range(len(counts.attributes)):
        for j in range(len(counts.attributes)):
            shape = (records.sizes[i], records.sizes[j])
            assert np.array_equal(counts.pair_counts(i, j), joint_counts(records.codes, i, j, shape=shape))
    for members, found in zip(groups, counts.priors(groups), strict=True):
        expected = build_group_domain(records, members, p=2.0, mode=scenario.domain, limit=10_000)
        assert np.array_equal(found.states, expected.states)
        assert np.array_equal(found.counts, expected.counts)
        assert found.prior.tobytes() == expected.prior.tobytes()


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("rows", [997, 10_000])
def test_the_numbers_are_those_in_memory(files, form, rows):
    scenario = described()
    counts = count_chunks(files[form], scenario, rows_per_chunk=rows)
    assert counts.attributes[0].levels[0] == "Aarau"
    assert counts.attributes[4].levels[0] == "01"
    assert_same(counts, build_records(read_table(files[form]), scenario), scenario)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_with_dropped_missing_values_neither_count_nor_give_levels(files, form):
    specs = {0: AttributeSpec(0, include=True, kind="nominal", missing="drop")}
    specs |= {2: AttributeSpec(2, include=True, kind="numeric", missing="drop")}
    scenario = described(specs=specs)
    counts = count_chunks(files[form], scenario, rows_per_chunk=500)
    assert counts.rows == ROWS - 2
    assert_same(counts, build_records(read_table(files[form]), scenario), scenario)


@pytest.mark.parametrize("mode", ["product", "declared"])
def test_the_domain_mode_decides_the_states(files, frame, mode):
    specs = {
        0: AttributeSpec(0, kind="nominal", levels=("Thun", "Chur", "Bern", "Aarau", "Visp"), missing="level"),
        1: AttributeSpec(1, kind="ordinal", levels=tuple("1234567"), missing="drop"),
        2: AttributeSpec(2, include=False),
        3: AttributeSpec(3, include=False),
        4: AttributeSpec(4, include=False),
        5: AttributeSpec(5, kind="numeric", low=0.0, high=100.0, bins=3, missing="level"),
    }
    scenario = described(specs=specs, domain=mode)
    counts = count_chunks(files["parquet"], scenario, rows_per_chunk=800)
    records = build_records(read_table(files["parquet"]), scenario)
    assert_same(counts, records, scenario, groups=((0,), (0, 1), (0, 1, 2)))


def test_a_sample_described_by_its_first_rows(tmp_path):
    scenario = Scenario(attributes=(AttributeSpec(12, kind="nominal"),))
    counts = count_chunks(
        SAMPLE_DIRECTORY / "heart.csv", describe_columns(SAMPLE_DIRECTORY / "heart.csv", scenario), rows_per_chunk=50
    )
    assert_same(counts, build_records(load_sample("heart"), scenario), scenario, groups=((0, 1),))


def test_many_different_numbers_as_text_are_read_chunk_by_chunk(files, monkeypatch):
    monkeypatch.setattr(chunk_reading, "TEXT_LIMIT", 1_000)
    scenario = described()
    counts = count_chunks(files["csv"], scenario, rows_per_chunk=400)
    assert_same(counts, build_records(read_table(files["csv"]), scenario), scenario)


def test_no_more_rows_than_asked_for_are_held(files, monkeypatch):
    seen = []

    def watched(attribute, series):
        seen.append(len(series))
        return encode(attribute, series)

    encode = chunked.encode_values
    monkeypatch.setattr(chunked, "encode_values", watched)
    count_chunks(files["csv"], described(), rows_per_chunk=256)
    assert max(seen) == 256
    assert sum(seen) == ROWS * 6


def test_progress_is_told_and_may_stop(files):
    told = []
    count_chunks(files["parquet"], described(), rows_per_chunk=500, progress=lambda f, s: told.append((f, s)))
    last = [f for f, s in told if s == "Counting pairs of levels"]
    assert last == sorted(last)
    assert (last[0], last[-1]) == (0.0, 1.0)

    def stop(_fraction, _sentence):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_chunks(files["parquet"], described(), progress=stop)


def test_what_needs_the_whole_table_is_refused(files, monkeypatch):
    with pytest.raises(InputError, match="'town' is not described"):
        count_chunks(files["csv"], Scenario())
    quantile = {2: AttributeSpec(2, kind="numeric", binning="quantile")}
    with pytest.raises(InputError, match="'income'"):
        count_chunks(files["csv"], described(specs=quantile))
    with pytest.raises(InputError, match="'town' cannot be numeric: row 1 "):
        count_chunks(files["csv"], described(specs={0: AttributeSpec(0, kind="numeric")}))
    with pytest.raises(InputError, match="levels"):
        count_chunks(files["parquet"], described(specs={2: AttributeSpec(2, kind="nominal")}))
    with pytest.raises(InputError, match="at least 1"):
        count_chunks(files["csv"], described(), rows_per_chunk=0)
    monkeypatch.setattr(chunked, "STATE_LIMIT", 10)
    with pytest.raises(InputError, match="states"):
        count_chunks(files["parquet"], described()).prior((0, 1, 2))


def test_a_value_outside_the_declared_levels_is_named_with_its_row(files):
    few = {0: AttributeSpec(0, kind="nominal", levels=("Bern", "Chur", "Thun"))}
    with pytest.raises(InputError, match=f"Row {ROWS - 1} has the value 'Aarau'"):
        count_chunks(files["csv"], described(specs=few), rows_per_chunk=700)


@pytest.mark.parametrize("content", [b"", b"PAR1 and nothing else", b"a,b\n1,2\n1,2,3\n" * 3])
def test_damaged_files_are_answered_by_a_sentence(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    specs = (AttributeSpec(0, kind="nominal"), AttributeSpec(1, kind="nominal"))
    with pytest.raises(InputError):
        count_chunks(path, Scenario(attributes=specs))
    with pytest.raises(InputError):
        count_chunks(tmp_path / "absent.csv", Scenario(attributes=specs))


@pytest.mark.parametrize(
    "text", ["sep=;\na;b\n1;x\n2;y\n1;y\n", "a;b;\n1;x;\n2;y;\n1;y;\n", '\ufeffa;b\n"1";x\n2;y\n1;y']
)
def test_what_text_files_carry_besides_their_cells(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    scenario = Scenario(
        attributes=(AttributeSpec(0, include=True, kind="ordinal"), AttributeSpec(1, include=True, kind="nominal"))
    )
    counts = count_chunks(path, scenario, rows_per_chunk=2)
    assert_same(counts, build_records(read_table(path), scenario), scenario, groups=((0, 1),))


def test_a_damaged_gzip_file_is_answered_by_a_sentence(tmp_path):
    rng = np.random.default_rng(0)
    lines = "a,b\n" + "".join(f"{x},{y}\n" for x, y in rng.integers(0, 9, (600_000, 2)).tolist())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(lines.encode(), 1)[:-3000])
    with pytest.raises(InputError, match="cannot be read to its end"):
        count_chunks(path, Scenario(attributes=(AttributeSpec(0, kind="ordinal"), AttributeSpec(1, kind="ordinal"))))
