"""Ordinary and hostile files: each gives the right reading or one sentence."""

import csv
import datetime
import gzip
import io
import logging
import math
import os
import random
import time
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import limits, table
from core.errors import InputError
from core.table import SAMPLE_DIRECTORY, SAMPLES, load_sample, read_table, sample_scenario


def text(content, encoding="utf-8"):
    return content.encode(encoding)


def columns(content, **overrides):
    """The columns of a table as lists, missing cells as None."""
    frame = read_table(content, **overrides).frame
    return {name: [None if pd.isna(v) else v for v in frame[name].tolist()] for name in frame.columns}


def workbook(*sheets, merge=None):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
        if merge:
            sheet.merge_cells(merge)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def parquet(data):
    stream = io.BytesIO()
    pq.write_table(data, stream)
    return stream.getvalue()


def archive(name, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(name, content)
    return stream.getvalue()


READINGS = {
    "byte-order mark": (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    "semicolon and decimal comma": (text("n;x\na;1,5\nb;2,25\n"), {"n": ["a", "b"], "x": [1.5, 2.25]}),
    "semicolon, numbers only": (text("x;y\n1,5;2,5\n3,5;4,5\n"), {"x": [1.5, 3.5], "y": [2.5, 4.5]}),
    "thousands with points": (text("x;y\n1.234,5;2\n3.000,5;4\n"), {"x": [1234.5, 3000.5], "y": [2, 4]}),
    "comma before three digits, semicolon": (text("x;y\n1,234;2\n3,500;4\n"), {"x": [1.234, 3.5], "y": [2, 4]}),
    "comma before three digits, comma": (text('x,y\n"1,234",2\n"3,500",4\n'), {"x": [1234, 3500], "y": [2, 4]}),
    "thousands with commas": (text('x,y\n"1,234.5",a\n"12,500.25",b\n'), {"x": [1234.5, 12500.25], "y": ["a", "b"]}),
    "thousands with spaces": (text("x;y\n1 234,5;a\n12 500;b\n"), {"x": [1234.5, 12500], "y": ["a", "b"]}),
    "thousands with apostrophes": (text("x;y\n1'234.5;a\n12'500;b\n"), {"x": [1234.5, 12500], "y": ["a", "b"]}),
    "quoted decimal comma": (text('x,y\n"1,5",a\n"3,25",b\n'), {"x": [1.5, 3.25], "y": ["a", "b"]}),
    "tabs": (text("x\ty\n1\ta b\n2\tc, d\n"), {"x": [1, 2], "y": ["a b", "c, d"]}),
    "pipes": (text("x|y\n1|a\n2|b\n"), {"x": [1, 2], "y": ["a", "b"]}),
    "quoted line end": (text('x,y\n1,"a\nb"\n2,c\n'), {"x": [1, 2], "y": ["a\nb", "c"]}),
    "quoted quote": (text('x,y\n1,"say ""a"""\n2,c\n'), {"x": [1, 2], "y": ['say "a"', "c"]}),
    "trailing separators": (text("x,y,\n1,2,\n3,4,\n"), {"x": [1, 3], "y": [2, 4]}),
    "trailing separators without a name": (text("x,y\n1,2,\n3,4,,\n"), {"x": [1, 3], "y": [2, 4]}),
    "blank lines": (text("\n\nx,y\n\n1,2\n  \n3,4\n\n"), {"x": [1, 3], "y": [2, 4]}),
    "repeated names": (text("x,x,,x (2)\n1,2,3,4\n"), {"x": [1], "x (3)": [2], "column 3": [3], "x (2)": [4]}),
    "no header": (text("1,2\n3,4\n"), {"column 1": [1, 3], "column 2": [2, 4]}),
    "no header, text": (text("red,big\nblue,big\nred,small\n"), {"column 1": ["red", "blue", "red"]}),
    "years as names": (text("c,2019,2020\nFR,5,7\nDE,8,1\n"), {"c": ["FR", "DE"], "2019": [5, 8], "2020": [7, 1]}),
    "one row": (text("a,b\n1,x\n"), {"a": [1], "b": ["x"]}),
    "one row without a header": (text("1,x\n"), {"column 1": [1], "column 2": ["x"]}),
    "one column": (text("a\n1\n2\n"), {"a": [1, 2]}),
    "one column of sentences": (text("s\nhello world\ngood bye\n"), {"s": ["hello world", "good bye"]}),
    "all missing": (text("a,b\n,1\n,2\n"), {"a": [None, None], "b": [1, 2]}),
    "constant": (text("a,b\n7,1\n7,2\n"), {"a": [7, 7], "b": [1, 2]}),
    "spellings of missing": (text("a,b\nNaN,1\nnull,2\nN/A,3\n1.5,4\n?,5\n"), {"a": [None, None, None, 1.5, None]}),
    "infinities": (text("a,b\n1,1\ninf,2\n-Infinity,3\n1e400,4\n"), {"a": [1, None, None, None]}),
    "mixed types": (text("a,b\n1,1\nabc,2\n3,3\n"), {"a": ["1", "abc", "3"], "b": [1, 2, 3]}),
    "percent": (text("a,b\n5%,1\n12.5 %,2\n"), {"a": [5, 12.5], "b": [1, 2]}),
    "exponents and signs": (text("a,b\n1e3,+1\n-2.5E-1,-2\n"), {"a": [1000, -0.25], "b": [1, -2]}),
    "minus sign": (text("a,b\n−1.5,1\n2,2\n"), {"a": [-1.5, 2], "b": [1, 2]}),
    "booleans, two spellings": (text("a,b\nTrue,1\nFalse,2\n"), {"a": ["True", "False"], "b": [1, 2]}),
    "booleans, five spellings": (
        text("a,b\nyes,1\nNo,2\nTRUE,3\n0,4\nf,5\n"),
        {"a": ["true", "false"] * 2 + ["false"]},
    ),
    "codes with leading zeros": (text("a,b\n01234,1\n99999,2\n"), {"a": ["01234", "99999"], "b": [1, 2]}),
    "a number beyond 64 bits": (text("a,b\n123456789012345678901,1\n2,2\n"), {"a": [123456789012345678901.0, 2.0]}),
    "cp1252": (text("a,b\nd’Or,€5\nMüller,“x”\n", "cp1252"), {"a": ["d’Or", "Müller"], "b": ["€5", "“x”"]}),
    "latin-1": (text("n,s\nMüller,Köln\nGröße,Bär\n", "latin-1"), {"n": ["Müller", "Größe"], "s": ["Köln", "Bär"]}),
    "UTF-16": (text("n,x\nMüller,1\n", "utf-16"), {"n": ["Müller"], "x": [1]}),
    "UTF-16 without a mark": (text("n,x\nMüller,1\nMeier,2\n", "utf-16-le"), {"n": ["Müller", "Meier"], "x": [1, 2]}),
    "UTF-32": (text("n,x\nMüller,1\n", "utf-32"), {"n": ["Müller"], "x": [1]}),
    "Cyrillic": (text("имя,город\nИван,Москва\nМария,Самара\n", "cp1251"), {"имя": ["Иван", "Мария"]}),
    "Japanese": (
        text("名前,都市\n田中,東京\n鈴木,大阪府\nさくら,こんにちは\n", "shift_jis"),
        {"名前": ["田中", "鈴木", "さくら"]},
    ),
    "right to left": (text("اسم,x\nمحمد,1\nدوד,2\n"), {"اسم": ["محمد", "دوד"], "x": [1, 2]}),
    "names of all sorts": (text("<b>x</b>,=1+1,😀\n1,2,3\n"), {"<b>x</b>": [1], "=1+1": [2], "😀": [3]}),
    "a line end in a name": (text('"a\nb",c\n1,2\n'), {"a b": [1], "c": [2]}),
    "old line ends": (text("a,b\r1,2\r3,4\r"), {"a": [1, 3], "b": [2, 4]}),
    "apostrophes": (text("n,s\nO'Neil,it's\nD'Arcy,don't\n"), {"n": ["O'Neil", "D'Arcy"], "s": ["it's", "don't"]}),
    "gzip": (gzip.compress(b"a,b\n1,2\n"), {"a": [1], "b": [2]}),
}


@pytest.mark.parametrize("case", READINGS)
def test_reading(case):
    content, expected = READINGS[case]
    found = columns(content)
    assert {name: found[name] for name in expected} == expected


REFUSALS = {
    "empty": (b"", "The file is empty"),
    "blank": (b"\n \n\t\n", "The file is empty"),
    "only a byte-order mark": (b"\xef\xbb\xbf\n", "The file is empty"),
    "only a header": (b"a,b,c\n", "holds only a header"),
    "a long row": (b"a,b\n1,2\n3,4,5\n", "Line 3 has 3 fields where the first has 2"),
    "a short row": (b"a,b,c\n1,2,3\n\n3,4\n", "Line 4 has 2 fields where the first has 3"),
    "a long row after a quoted line end": (b'a,b\n1,"x\ny"\n3,4,5\n', "Line 4 has 3 fields where the first has 2"),
    "a title line": (b"My table\na,b\n1,2\n", "Line 2 has 2 fields where the first has 1"),
    "an open quote": (b'a,b\n1,"2\n3,4\n', "Line 2 opens a quote that is never closed"),
    "an open quote far from the end": (
        b'a,b\n1,"2\n' + b"3,4\n" * 40_000,
        "Line 2 starts a field of more than 131,072",
    ),
    "a zero byte": (b"a,b\n1,2\n\0,3\n", "Line 3 holds a zero byte"),
    "PDF": (b"%PDF-1.4\n...", "This is a PDF document"),
    "ZIP": (archive("a.csv", "a,b\n1,2\n"), "This is a ZIP archive"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "old or a password-protected Office file"),
    "JSON": (b'[{"a": 1}, {"a": 2}]', "This is a JSON file"),
    "HTML": (b"\n<!DOCTYPE html>\n<html></html>", "This is a web page"),
    "damaged gzip": (gzip.compress(b"a,b\n1,2\n" * 99)[:30], "gzip file is damaged"),
    "damaged workbook": (workbook(("s", [["a"], [1]]))[:-40], "workbook is damaged"),
    "damaged Parquet": (b"PAR1" + b"x" * 60, "Parquet file is damaged"),
    "501 columns": (b",".join(b"c%d" % i for i in range(501)) + b"\n", "has 501 columns; at most 500"),
    "nested list": (parquet(pa.table({"x": [[1], [2]]})), "Column 'x' of the Parquet file holds list"),
    "nested struct": (parquet(pa.table({"x": [{"y": 1}]})), "Column 'x' of the Parquet file holds struct"),
    "bytes": (parquet(pa.table({"x": [b"\0\1"]})), "Column 'x' of the Parquet file holds binary"),
    "Parquet without rows": (parquet(pa.table({"x": pa.array([], pa.int64())})), "has no rows"),
    "Parquet without columns": (parquet(pa.table({})), "has no rows"),
    "empty sheet": (workbook(("s", [])), "The sheet 's' is empty"),
    "sheet with only a header": (workbook(("s", [["a", "b"]])), "The sheet 's' holds only a header"),
    "a missing file": ("/nowhere/at/all.csv", "cannot be opened"),
    "a directory": (str(SAMPLE_DIRECTORY), "cannot be opened"),
    "a path with a zero byte": ("a\0b", "cannot be opened"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(case):
    source, sentence = REFUSALS[case]
    with pytest.raises(InputError) as caught:
        read_table(source)
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message
    assert message.endswith(".")


FINDINGS = {
    "renamed": (b"x,x\n1,2\n", "Column 2 repeats the name 'x' and is called 'x (2)'."),
    "unnamed": (b"x,\n1,2\n", "Column 2 has no name and is called 'column 2'."),
    "no header": (b"1,2\n3,4\n", "The first row holds values, not names; the columns are numbered."),
    "one column": (b"a b\n1 2\n", "Only one column was found; choose another separator if there should be more."),
    "missing": (b"x,y\nNA,1\nNA,2\n3,3\n", "In column 'x' the cells reading 'NA' (2) count as missing."),
    "nothing": (b"x,y\n,1\n,2\n", "Column 'x' has no values at all."),
    "thousands": (b'x,y\n"1,234.5",1\n', "Column 'x' has thousands separators: 1,234.5 is read as 1234.5."),
    "three digits": (
        b'x,y\n"1,234",1\n',
        "A comma before three digits, as in 1,234, is read as a separator of thousands",
    ),
    "percent": (b"x,y\n5%,1\n", "Column 'x' holds percentages: 12% is read as the number 12."),
    "mixed": (
        b"x,y\n1,1\n2,2\nabc,3\n",
        "Column 'x' is read as text because 1 of its 3 values are not numbers, first 'abc' in line 4",
    ),
    "codes": (b"x,y\n007,1\n", "Column 'x' has numbers with leading zeros and is read as text"),
    "booleans": (b"x,y\nyes,1\nNO,2\nY,3\n", "Column 'x' spells yes and no in 3 ways"),
    "dates": (
        b"x,y\n2020-01-31,1\n",
        "Column 'x' is read as dates, year-month-day, and compared by the number of days.",
    ),
    "doubtful dates": (
        b"x,y\n1/2/2020,1\n",
        "day/month/year, and compared by the number of days, though month/day/year",
    ),
    "infinite": (b"x,y\ninf,1\n2,2\n", "In column 'x' infinite or too large numbers (1) count as missing."),
    "encoding": ("x,y\nKöln,1\n".encode("cp1252"), "The encoding is guessed to be cp1252"),
    "sheets": (workbook(("a", [["x", "y"], [1, 2]]), ("b", [])), "Sheet 'a' is read; the workbook also has 'b'."),
    "merged": (workbook(("a", [["x", "y"], [1, None]]), merge="A2:B2"), "The workbook has merged cells"),
    "title": (workbook(("a", [["Report"], ["x", "y"], [1, 2]])), "The first 1 row(s) of the sheet hold a single cell"),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_finding(case):
    content, sentence = FINDINGS[case]
    found = read_table(content).findings
    assert any(sentence in f for f in found), found
    assert all(f.endswith(".") and "\n" not in f for f in found)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2020-01-31", "1999-12-01"], [(2020, 1, 31), (1999, 12, 1)]),
        (["31.01.2020", "01.12.1999"], [(2020, 1, 31), (1999, 12, 1)]),
        (["1/31/2020", "12/1/1999"], [(2020, 1, 31), (1999, 12, 1)]),
        (["31/1/2020", "1/12/1999"], [(2020, 1, 31), (1999, 12, 1)]),
        (["2020-01-31 10:30", "1999-12-01 00:00"], [(2020, 1, 31, 10, 30), (1999, 12, 1)]),
        (["2020-01-31T10:30:05", "1999-12-01T00:00:00"], [(2020, 1, 31, 10, 30, 5), (1999, 12, 1)]),
    ],
)
def test_dates(cells, expected):
    frame = read_table(text("d,x\n" + "".join(f"{c},1\n" for c in cells))).frame
    assert frame["d"].tolist() == [pd.Timestamp(*e) for e in expected]


def test_impossible_dates_stay_text():
    assert columns(b"d,x\n2020-13-45,1\n2020-01-01,2\n")["d"] == ["2020-13-45", "2020-01-01"]


def test_the_dialect_is_shown_and_can_be_overridden():
    content = text("x;y\n1,5;a\n2,5;b\n")
    dialect = read_table(content).dialect
    shown = (dialect.format, dialect.separator, dialect.encoding, dialect.header, dialect.decimal)
    assert shown == ("text", ";", "utf-8", True, ",")
    with pytest.raises(InputError, match="Line 2 has 2 fields where the first has 1"):
        read_table(content, separator="comma")
    assert columns(content, decimal=".")["x"] == ["1,5", "2,5"]
    assert columns(content, header=False)["column 1"] == ["x", "1,5", "2,5"]
    assert columns(text("n;x\nKöln;1\n", "latin-1"), encoding="cp437")["n"] == ["K÷ln"]
    assert columns(b"a b\n1 2\n", separator="space") == {"a": [1], "b": [2]}
    assert columns(b"aeb\n1e2\n", separator="e") == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"separator": ",,"}, "separator"),
        ({"separator": ""}, "separator"),
        ({"separator": '"'}, "separator"),
        ({"separator": "\n"}, "separator"),
        ({"encoding": "klingon"}, "encoding"),
        ({"encoding": "base64"}, "encoding"),
        ({"encoding": "idna"}, "encoding"),
        ({"encoding": "utf-16"}, "encoding"),
        ({"decimal": ";"}, "decimal"),
        ({"header": "yes"}, "header"),
    ],
)
def test_overrides_are_checked(overrides, field):
    with pytest.raises(InputError) as caught:
        read_table(b"a,b\n1,2\n1", **overrides)
    assert caught.value.field == field


def test_the_wrong_encoding_names_the_line():
    with pytest.raises(InputError, match="Line 3 is not valid utf-8 text"):
        read_table(text("a,b\nx,1\nKöln,2\n", "cp1252"), encoding="utf-8")


def test_sources_of_every_sort_read_the_same(tmp_path):
    content = b"a,b\n1,2\n"
    path = tmp_path / "small.csv"
    path.write_bytes(content)
    readings = [read_table(s) for s in (path, str(path), content, io.BytesIO(content))]
    assert [r.name for r in readings] == ["small.csv", "small.csv", "table", "table"]
    assert len({r.digest for r in readings}) == 1
    assert all(r.frame.equals(readings[0].frame) for r in readings)
    assert read_table(content, name="mine").name == "mine"


def test_the_digest_depends_on_the_content_and_the_dialect():
    digests = {
        read_table(b"a,b\n1,2\n").digest,
        read_table(b"a,b\n1,3\n").digest,
        read_table(b"a,b\n1,2\n", header=False).digest,
        read_table(b"a,b\n1,2\n", decimal=",").digest,
    }
    assert len(digests) == 4


def test_too_large_is_refused_before_it_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "UPLOAD_LIMIT_MB", 1)
    large = b"a,b\n" + b"1,2\n" * 300_000
    path = tmp_path / "large.csv"
    path.write_bytes(large)
    for source in (large, path, io.BytesIO(large)):
        with pytest.raises(InputError, match="at most 1 MB"):
            read_table(source)
    with pytest.raises(InputError, match="unpacks to more than 1 MB"):
        read_table(gzip.compress(large))


def test_a_gzip_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(limits, "UPLOAD_LIMIT_MB", 8)
    with pytest.raises(InputError, match="unpacks to more than 8 MB"):
        read_table(gzip.compress(b"0" * (64 << 20)))


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr("core.reading.parsing.CELL_LIMIT", 1000)
    with pytest.raises(InputError, match="over 1,000 cells"):
        read_table(b"a,b\n" + b"1,2\n" * 501)


def test_workbook_cells_of_every_type():
    rows = [
        ["i", "f", "s", "b", "d", "mixed", "comma"],
        [1, 1.5, "x", True, datetime.date(2020, 1, 31), 1, "1,5"],
        [2, None, None, False, datetime.datetime(2020, 2, 1, 12), "x", "2,25"],
    ]
    found = read_table(workbook(("s", rows)))
    frame = found.frame
    assert found.dialect.format == "excel"
    assert found.dialect.sheet == "s"
    assert frame["i"].tolist() == [1, 2]
    assert frame["i"].dtype == np.int64
    assert frame["f"].tolist() == pytest.approx([1.5, math.nan], nan_ok=True)
    assert frame["s"].tolist()[0] == "x"
    assert pd.isna(frame["s"][1])
    assert frame["b"].tolist() == ["true", "false"]
    assert frame["d"].tolist() == [pd.Timestamp(2020, 1, 31), pd.Timestamp(2020, 2, 1, 12)]
    assert frame["mixed"].tolist() == ["1", "x"]
    assert frame["comma"].tolist() == [1.5, 2.25]


def test_sheets_are_listed_and_chosen():
    content = workbook(("one", [["a", "b"], [1, 2]]), ("two", [[], [None, "c"], [None, 3], [None, 4]]))
    assert read_table(content).sheets == ("one", "two")
    assert columns(content) == {"a": [1], "b": [2]}
    assert columns(content, sheet="two") == columns(content, sheet=1) == {"c": [3, 4]}
    assert read_table(content, sheet=1).digest != read_table(content).digest
    for wrong in ("three", 7, -1, True):
        with pytest.raises(InputError, match="its sheets are 'one', 'two'"):
            read_table(content, sheet=wrong)


def test_parquet_types():
    moment = datetime.datetime(2020, 1, 31, 12, tzinfo=datetime.UTC)
    data = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "u": pa.array([2**63 + 2048, 1], pa.uint64()),
            "f": [1.5, math.inf],
            "b": [True, None],
            "s": ["x", None],
            "t": ["1,234", "5"],
            "c": pa.array(["p", "q"]).dictionary_encode(),
            "d": pa.array([datetime.date(2020, 1, 31), None]),
            "z": pa.array([moment, moment]),
            "n": pa.nulls(2),
        }
    )
    frame = read_table(parquet(data)).frame
    assert frame["i"].tolist() == pytest.approx([1, math.nan], nan_ok=True)
    assert frame["u"].tolist() == [2.0**63 + 2048, 1]
    assert frame["f"].tolist() == pytest.approx([1.5, math.nan], nan_ok=True)
    assert frame["b"].tolist()[0] == "true"
    assert frame["t"].tolist() == [1234, 5]
    assert frame["c"].tolist() == ["p", "q"]
    assert frame["d"][0] == pd.Timestamp(2020, 1, 31)
    assert frame["z"][0] == pd.Timestamp(2020, 1, 31, 12)
    assert frame["n"].isna().all()


WORDS = ["red", "blue sky", "Köln", "x, y", "a;b", 'say "hi"', "p|q", "tab\there", "O'Neil", "two\nlines", "7 up"]


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_round_trip_through_every_dialect(rng):
    """What the csv module writes in some dialect is read back, dialect and all."""
    separator = rng.choice(",;\t|")
    decimal = rng.choice(",.") if separator != "," else "."
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    rows = rng.randint(4, 30)
    data = {
        "whole": [rng.randint(-999, 999) for _ in range(rows)],
        "real": [rng.randint(-9999, 9999) / 100 + 0.001 * rng.randint(1, 9) for _ in range(rows)],
        "word": [rng.choice(WORDS) for _ in range(rows)],
        "Größe": [rng.choice(["S", "M", "L"]) for _ in range(rows)],
    }
    data["real"][0] = 0.25  # three decimals everywhere could be thousands
    stream = io.StringIO()
    style = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    writer = csv.writer(stream, delimiter=separator, quoting=style, lineterminator=rng.choice(["\n", "\r\n"]))
    writer.writerow(data)
    for row in zip(*data.values(), strict=True):
        writer.writerow([str(v).replace(".", decimal) if isinstance(v, float) else v for v in row])
    content = stream.getvalue().encode(encoding)
    found = read_table(content)
    assert (found.dialect.separator, found.dialect.decimal, found.dialect.header) == (separator, decimal, True)
    assert {name: found.frame[name].tolist() for name in found.frame.columns} == data


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.sampled_from([b"", b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"\xff\xfe", b"a,b\n"]))
def test_random_bytes_raise_input_errors_only(content, start):
    try:
        frame = read_table(start + content).frame
    except InputError as error:
        assert str(error)
    else:
        assert len(frame) >= 1
        assert frame.columns.is_unique


PIECES = [
    ",",
    ";",
    "\t",
    "|",
    '"',
    "'",
    "\n",
    "\r\n",
    "\\",
    " ",
    "1",
    "2.5",
    "1,5",
    "abc",
    "é",
    "NA",
    "%",
    "-",
    "\0",
    "漢",
]
OVERRIDES = st.fixed_dictionaries(
    {},
    optional={
        "separator": st.sampled_from([",", "e", "1", " ", "'", "é", "\t"]),
        "encoding": st.sampled_from(["utf-8", "utf-16", "cp1252", "big5", "utf-16-le"]),
        "header": st.booleans(),
        "decimal": st.sampled_from([".", ","]),
    },
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=80), st.sampled_from(["utf-8", "utf-16", "cp1252", "utf-32"]), OVERRIDES
)
def test_random_text_raises_input_errors_only(pieces, encoding, overrides):
    try:
        frame = read_table("".join(pieces).encode(encoding, "replace"), **overrides).frame
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert len(frame) >= 1
        assert frame.columns.is_unique


@pytest.mark.parametrize(
    "content",
    [workbook(("s", [["a", "b"], [1, "x"], [2, "y"]])), parquet(pa.table({"a": [1, 2, 3], "b": ["x", "y", None]}))],
    ids=["workbook", "parquet"],
)
def test_damaged_files_raise_input_errors_only(content):
    rng = random.Random(7)
    refused = 0
    for _ in range(120):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(4, len(damaged))] = rng.randrange(256)
        try:
            read_table(bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])]))
        except InputError:
            refused += 1
    assert refused > 40


def test_hostile_text_does_not_stall_the_detection():
    rng = random.Random(3)
    content = "".join(rng.choices(PIECES[:8], k=60_000)).encode()
    start = time.process_time()
    with pytest.raises(InputError):
        read_table(content)
    assert time.process_time() - start < 5


def test_a_hundred_thousand_distinct_values_are_read():
    content = b"id,x\n" + b"".join(b"k%d,%d\n" % (i, i % 7) for i in range(100_000))
    frame = read_table(content).frame
    assert frame["id"].nunique() == 100_000


def test_nothing_is_logged_printed_or_written(caplog, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    for content in (b"canary,b\nK\xf6ln,2\n", workbook(("s", [["canary"], ["x"]])), b"canary,\0"):
        try:
            read_table(content)
        except InputError:
            continue
    printed = capsys.readouterr()
    assert "canary" not in caplog.text + printed.out + printed.err
    assert os.listdir(tmp_path) == []


def test_an_excel_file_object_is_left_open():
    stream = io.BytesIO(workbook(("s", [["a"], [1]])))
    read_table(stream)
    assert not stream.closed


@pytest.mark.parametrize(("name", "shape"), [("heart", (303, 14)), ("adult", (16_619, 15)), ("wine", (6497, 13))])
def test_samples(name, shape):
    found = load_sample(name)
    assert found.frame.shape == shape
    assert found.name == name
    assert found.findings == ()
    assert "CC BY 4.0" in SAMPLES[name].attribution
    assert SAMPLES[name].note.endswith(".")


def test_samples_read_as_pandas_reads_them():
    for sample in SAMPLES.values():
        path = SAMPLE_DIRECTORY / sample.file
        expected = pd.read_csv(path, keep_default_na=False, na_values=[""])
        pd.testing.assert_frame_equal(read_table(path).frame, expected)


def test_unknown_samples_are_refused():
    with pytest.raises(InputError, match="choose one of heart, adult, wine"):
        load_sample("iris")
    with pytest.raises(InputError, match="choose one of heart, adult, wine"):
        sample_scenario("iris")


def test_adult_is_read_in_well_under_a_second():
    load_sample("heart")  # the first reading also imports
    start = time.process_time()
    load_sample("adult")
    assert time.process_time() - start < 2  # 0.3 s on an idle core


def test_only_a_bounded_sample_is_searched_for_the_dialect(monkeypatch):
    seen = []
    monkeypatch.setattr(table, "detect_separator", lambda sample: seen.append(sample) or (",", '"', None))
    read_table(b"a,b\n" + b"1,2\n" * 100_000)
    assert len(seen[0]) <= 65_536
    assert seen[0].endswith("\n")
