"""The style sheet of the report: light and dark, for screens from 390 pixels on, and for paper.

The colours have a contrast of at least 4.5 : 1 to their background (WCAG AA); a test computes it.
"""

from __future__ import annotations

# By variable: the light and the dark colour.
COLORS = {
    "page": ("#ffffff", "#14171a"),
    "box": ("#f6f7f8", "#1d2125"),
    "text": ("#1c2024", "#e6e8ea"),
    "faint": ("#57606a", "#a9b1b9"),
    "line": ("#c4cad0", "#434a52"),
    "passed": ("#116329", "#6fdd8b"),
    "warning": ("#7a4b00", "#f2c14e"),
    "failed": ("#b3261e", "#ff9b93"),
}


def _variables(theme: int) -> str:
    return "".join(f"--{name}:{colors[theme]};" for name, colors in COLORS.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(0)}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(1)}}}}}"
    f"@media print{{:root{{color-scheme:light;{_variables(0)}}}}}"
    """
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--page);color:var(--text);
  font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1.25rem;margin:2rem 0 .75rem}
h3{font-size:1rem;margin:0}
p{margin:.25rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.125rem 1rem;margin:.75rem 0}
dt{color:var(--faint)}
dd{margin:0}
.passed{color:var(--passed)}
.warning{color:var(--warning)}
.failed{color:var(--failed)}
.note,.not_reached,.not_used,.detail{color:var(--faint)}
.state{font-weight:600}
.chart,.findings{list-style:none;margin:0;padding:0}
.chart li,.findings li{background:var(--box);border:1px solid var(--line);border-radius:.375rem;
  border-left-width:.375rem;padding:.625rem .875rem;break-inside:avoid}
.chart li+li{margin-top:1.5rem;position:relative}
.chart li+li::before{content:"";position:absolute;left:1.5rem;top:calc(-1.5rem - 1px);
  height:1.5rem;border-left:2px solid var(--line)}
.findings li+li{margin-top:.75rem}
li.is_passed{border-left-color:var(--passed)}
li.is_warning{border-left-color:var(--warning)}
li.is_failed{border-left-color:var(--failed)}
li.is_not_reached,li.is_not_used{border-style:dashed}
.head{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
.scroll{overflow-x:auto;margin:0 0 1.25rem}
table{border-collapse:collapse;width:100%;font-size:.875rem;min-width:40rem;
  overflow-wrap:break-word}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{text-align:left;vertical-align:top;font-weight:normal;padding:.25rem .75rem .25rem 0;
  border-bottom:1px solid var(--line)}
thead th{color:var(--faint);white-space:nowrap}
td{max-width:30rem}
td .state{white-space:nowrap}
footer{margin-top:2rem;color:var(--faint);font-size:.875rem}
@media print{body{max-width:none;padding:0}.scroll{overflow:visible}table{min-width:0}}
"""
)
