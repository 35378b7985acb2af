"""Reading files: dialect, cells, text, workbooks and Parquet; `core.table` is the door."""
