"""Documentation sites of a few pages, in the form in which tools/site.sh builds the real one."""

from __future__ import annotations

from pathlib import Path

from tests.unit.test_documentation import tool

VERSIONS = tool("site_versions")
URL: str = VERSIONS.site_url()
PAGE = """<link rel="canonical" href="{url}{path}">
<p class="ottla-version">To be
replaced.</p>
<h1>{text}</h1>
"""
RAW = "https://raw.githubusercontent.com/ottla/ottla"


def build(directory: Path, text: str, pages: tuple[str, ...] = ("", "guides/produce/")) -> Path:
    """Write a site as it is built."""
    for path in pages:
        file = directory / path / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PAGE.format(url=URL, path=path, text=text))
    (directory / "404.html").write_text("of the theme")
    entries = "".join(f"<url><loc>{URL}{path}</loc></url>" for path in pages)
    (directory / "sitemap.xml").write_text(f"<urlset>{entries}</urlset>")
    for name in ("llms.txt", "llms-full.txt"):
        (directory / name).write_text(f"{text}: {RAW}/main/docs/index.md")
    return directory
