"""Doctor: what the last examination found, and a new one."""

import msgspec
from markupsafe import Markup

from vault_memory.http.page.page_answers import PageView, Redirect
from vault_memory.http.page.pictures import charts
from vault_memory.http.page.viewer import Viewer

WORDS = {"ok": "in order", "warn": "warning", "fail": "failed"}
"""State of a check → its word"""


class DoctorFields(msgspec.Struct):
    """The fields of `/doctor`."""


def show(
    viewer: Viewer,
    query: DoctorFields,
) -> PageView:
    viewer.check_sees_all()
    days = charts.search_days(viewer.shared.search_times())
    data = {
        "examination": viewer.shared.examination,
        "words": WORDS,
        "search_days": days,
        "search_picture": Markup(charts.latency_svg(days)),
    }
    return PageView("doctor.html", "Doctor", data)


def examine(
    viewer: Viewer,
    form: DoctorFields,
) -> Redirect:
    viewer.check_sees_all()
    viewer.shared.keep_examination(viewer.examine())
    return Redirect("/doctor")
