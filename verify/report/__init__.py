"""The report: records in, text, Markdown, JSON or one HTML file out.

It renders records and computes nothing about the claims themselves.
"""

from verify.report.machine import as_json as as_json
from verify.report.rows import Row as Row
from verify.report.rows import build as build
from verify.report.text import as_markdown as as_markdown
from verify.report.text import as_text as as_text
