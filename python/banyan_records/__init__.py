"""Reads the record files of banyan.

    import banyan_records
    run = banyan_records.read("out/hello")      # a folder of shards, a file, or a list
    run.rounds.pandas()                         # also prompts, nodes, summary()
    run.plot("size").savefig("speed.pdf")

`read` returns a Run. It holds no record: every table is read from the files when it is
walked, so runs may be larger than memory. protobuf is the only package it needs; its
extras are pandas, arrow and plots.
"""

from . import record_pb2
from .cells import Cell
from .entries import NothingRecorded, RecordError, RecordWarning
from .metrics import METRICS
from .run import Pair, Run, read
from .tables import Column, Table

__all__ = ["METRICS", "Cell", "Column", "NothingRecorded", "Pair", "RecordError",
           "RecordWarning", "Run", "Table", "plot", "plots", "read", "record_pb2"]


def plot(paths, name="size", **options):
    """Draws a plot of the report: read(paths).plot(name, ...)."""
    return read(paths).plot(name, **options)


def plots(paths, folder, formats=("pdf",)):
    """Writes every plot of the report into a folder: read(paths).write_plots(...)."""
    return read(paths).write_plots(folder, formats)
