"""Doctor: what the last examination found, and a new one."""

import msgspec

from vault_memory.http.page.page_answers import PageView, Redirect
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
    data = {"examination": viewer.shared.examination, "words": WORDS}
    return PageView("doctor.html", "Doctor", data)


def examine(
    viewer: Viewer,
    form: DoctorFields,
) -> Redirect:
    viewer.check_sees_all()
    viewer.shared.keep_examination(viewer.examine())
    return Redirect("/doctor")
