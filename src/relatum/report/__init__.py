"""The report: one self-contained HTML page about a finished run, for a person to read; and the graph of its rules."""

from relatum.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
