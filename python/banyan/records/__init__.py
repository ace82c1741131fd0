"""Reads the record files and reports of banyan.

    import banyan.records
    run = banyan.records.read("out/hello")      # a folder of shards, a file, or a list
    run.rounds.pandas()                         # also prompts and nodes
    report = banyan.records.report("hello.json")   # banyan report --format json
    report.plot("size").savefig("speed.pdf")

`read` returns a Run. It holds no record: every table is read from the files when it is
walked, so runs may be larger than memory. protobuf is the only package it needs; its
extras are pandas, arrow and plots.
"""

from . import record_pb2
from .cells import Cell
from .entries import NothingRecorded, RecordError, RecordWarning
from .report import Report, report
from .run import Pair, Run, read
from .tables import Column, Table

__all__ = ["Cell", "Column", "NothingRecorded", "Pair", "RecordError", "RecordWarning",
           "Report", "Run", "Table", "read", "record_pb2", "report"]
