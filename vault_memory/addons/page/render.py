"""Renders templates: HTML in which each value is escaped, with the headers of every answer."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from starlette.responses import Response

from vault_memory.addons.page import diffs, wording
from vault_memory.addons.page.note_html.hidden_letters import Exact, finalize, visible
from vault_memory.addons.page.page_answers import note_path, page_path

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Fault: with `no-referrer`, Chromium sends `Origin: null` with each form, which the
    # guard refuses.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""Headers of each answer"""
ASSETS = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Static file → its type"""
FOREVER = "public, max-age=31536000, immutable"


@cache
def environment() -> jinja2.Environment:
    """Returns the templates of the page."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("vault_memory.addons.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.globals.update(
        asset=asset_path, page_path=page_path, note_path=note_path, diff_lines=diffs.lines
    )
    templates.filters.update(
        day=wording.day,
        exact=Exact,
        moment=wording.moment,
        night=wording.night,
        note_title=wording.note_title,
        person=wording.person,
        short_id=_short_id,
        visible=visible,
        when=wording.when,
        whose=wording.whose,
    )
    return templates


def html(template: str, data: Mapping[str, Any], status: int = 200) -> Response:
    """Returns a rendered template."""
    text = environment().get_template(template).render(data)
    return Response(
        text.encode("utf-8", "replace"),
        status,
        {"cache-control": "no-store"},
        "text/html; charset=utf-8",
    )


def fragment(template: str, data: Mapping[str, Any]) -> str:
    """Returns a rendered part of a view."""
    return environment().get_template(template).render(data)


def asset(name: str) -> Response | None:
    """Returns the static file with this name and hash, such as `page.0a1b2c3d.css`."""
    for file_name, media_type in ASSETS.items():
        if asset_path(file_name) == f"/static/{name}":
            return Response(_asset_bytes(file_name), 200, {"cache-control": FOREVER}, media_type)
    return None


@cache
def asset_path(name: str) -> str:
    """Returns the path of a static file. Another content has another path."""
    digest = hashlib.sha256(_asset_bytes(name)).hexdigest()[:8]
    stem, _, ending = name.rpartition(".")
    return f"/static/{stem}.{digest}.{ending}"


@cache
def _asset_bytes(name: str) -> bytes:
    return files("vault_memory.addons.page").joinpath("static", name).read_bytes()


def _short_id(text: str) -> str:
    """Returns the end of an id, which differs in most records."""
    return text[-8:]
