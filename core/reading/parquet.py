"""Parquet files to named columns."""

import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError
from core.reading.cells import cell_text, convert_text, tidy_numbers, unique_names
from core.reading.parsing import CONTENT_ERRORS, Parsed, check_cells, check_width


def parse_parquet(content: bytes) -> Parsed:
    """Read a Parquet file of plain columns.

    Raises
    ------
    InputError
        Naming a column that is nested or holds bytes, or saying that the file is damaged, empty or too large.
    """
    try:
        source = pq.ParquetFile(io.BytesIO(content))
        check_width(len(source.schema_arrow.names))
        check_cells(source.metadata.num_rows, len(source.schema_arrow.names))
        _refuse_nested(source.schema_arrow)
        table = source.read()
        if table.num_rows == 0 or table.num_columns == 0:
            raise InputError("file", "The Parquet file has no rows; give a table with at least one.")
        names, findings = unique_names([str(n) for n in table.column_names])
        parsed = Parsed(names, [], findings)
        for name, column in zip(names, table.columns, strict=True):
            series, notes = _from_arrow(column, name)
            parsed.columns.append(series)
            parsed.findings += notes
        return parsed
    except CONTENT_ERRORS as error:
        raise InputError("file", "The Parquet file is damaged; write it again or export the table as CSV.") from error


def _refuse_nested(schema: pa.Schema) -> None:
    for entry in schema:
        kind = entry.type.value_type if pa.types.is_dictionary(entry.type) else entry.type
        binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        if pa.types.is_nested(kind) or binary or isinstance(kind, pa.BaseExtensionType):
            raise InputError(
                "file",
                f"Column '{entry.name:.60}' of the Parquet file holds {kind!s:.40}, not plain values; leave it out or "
                "flatten it first.",
            )


def _from_arrow(column: Any, name: str) -> tuple[pd.Series, list[str]]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or (pa.types.is_integer(kind) and column.null_count):
        return tidy_numbers(pd.Series(column.cast(pa.float64()).to_numpy()), name)
    if pa.types.is_integer(kind):
        values = column.to_numpy()
        return pd.Series(values.astype("float64" if kind == pa.uint64() else "int64")), []
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pd.Series(column.cast(pa.timestamp("us")).to_numpy()), []
    texts = pd.Series([cell_text(c) for c in column.to_pylist()], dtype="str")
    return convert_text(texts, name, ".", np.arange(1, len(texts) + 1))
