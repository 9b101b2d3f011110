"""The report as one self-contained HTML file: no scripts, no links to load."""

from verify.report.html.page import as_html as as_html
