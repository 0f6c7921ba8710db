"""Switches off the telemetry of model libraries.

Each library reads its variable when it is imported.
"""

import os

OPT_OUTS = {
    # From 1.31 on, onnxruntime writes a device id below the user's cache folder when it is imported, and nine seconds
    # later asks for a host of its maker. Its own call `disable_telemetry_events` comes too late for both.
    "ORT_DISABLE_TELEMETRY": "1",
    # huggingface_hub fetches a list of agent programs, and names the one it runs in with each request.
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
"""Environment variables and their values"""


def opt_out() -> None:
    """Set the variables for this process and for those that it starts."""
    os.environ.update(OPT_OUTS)
