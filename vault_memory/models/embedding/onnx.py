"""Embeds texts with onnxruntime, in this process, without torch.

It embeds single texts: a batch padded to its longest text is slower on a CPU and takes gigabytes.
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.base import plain, unit
from vault_memory.models.embedding.fingerprint import file_sha256, fingerprint
from vault_memory.models.embedding.model_files import ModelFiles
from vault_memory.models.telemetry import opt_out

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

# The library sends telemetry as soon as it is imported, so the variables come first.
opt_out()

TEXTS_PER_TRIM = 16
"""Number of texts after which working memory is released (2 ms); parallel threads accumulate it."""

HINT = "pip install 'vault-memory[onnx]'"


class OnnxEmbedder:
    """Embeds with an ``.onnx`` file and its ``tokenizer.json``.

    Any number of threads may embed at once: a session may be run by several threads, and the
    settings of the tokenizer do not change after it was loaded.
    """

    def __init__(self, files: ModelFiles) -> None:
        self.name = f"onnx {files.name}"
        self._files = files
        self._embedded = 0
        self._tokenizer = _tokenizer(files)
        self._session = _session(files.model)
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        self._output = _output(self._session)
        release_memory()
        self.dimensions = len(self._vector("one word")) // 4
        self.fingerprint = fingerprint(
            "onnx",
            file_sha256(files.model),
            file_sha256(files.tokenizer),
            files.max_tokens,
            files.pooling,
            files.query_prefix,
            files.passage_prefix,
            self.dimensions,
        )

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        prefix = self._files.query_prefix if query else self._files.passage_prefix
        vectors = [self._vector(prefix + text) for text in texts]
        self._embedded += len(texts)
        if self._embedded >= TEXTS_PER_TRIM:
            self._embedded = 0
            release_memory()
        return vectors

    def _vector(self, text: str) -> bytes:
        import numpy

        encoding = self._tokenizer.encode(plain(text))
        ids = numpy.array([encoding.ids], dtype=numpy.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": numpy.ones_like(ids),
            "token_type_ids": numpy.zeros_like(ids),
        }
        try:
            output: Any = self._session.run(
                [self._output], {name: inputs[name] for name in self._inputs}
            )[0]
        except Exception as error:
            raise EmbedderUnavailable(
                f"the model `{self._files.model}` fails: {_first_line(error)}"
            ) from None
        if output.ndim == 3:
            output = (
                output[:, 0]
                if self._files.pooling == "cls"
                else output.mean(axis=1, dtype=numpy.float64)
            )
        return unit(output[0].tolist())


def _tokenizer(files: ModelFiles) -> "tokenizers.Tokenizer":
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise EmbedderUnavailable("the package `tokenizers` is not installed", hint=HINT) from None
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:
        raise _broken(files.tokenizer, error) from None
    # Fault: padding tokens would take part in the mean of a text.
    tokenizer.no_padding()
    # Fault: a text beyond the length of the model makes the runtime fail.
    tokenizer.enable_truncation(files.max_tokens)
    return tokenizer


def _session(model: Path) -> "onnxruntime.InferenceSession":
    try:
        import onnxruntime
    except ImportError:
        raise EmbedderUnavailable("the package `onnxruntime` is not installed", hint=HINT) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # An arena never shrinks, and the runtime stores one memory pattern per text length.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    # Idle threads of the runtime would spin and use a whole processor.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise _broken(model, error) from None


def _output(session: "onnxruntime.InferenceSession") -> str:
    names = [output.name for output in session.get_outputs()]
    return next(
        (name for name in ("last_hidden_state", "token_embeddings") if name in names), str(names[0])
    )


def _broken(path: Path, error: Exception) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"the model `{path}` cannot be loaded: {_first_line(error)}",
        hint="download or install the model again; until then search uses keywords only",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


# --- Memory of the process ---


def release_memory() -> None:
    """Return freed memory to the system where the C library supports it.

    Without it, glibc retains the 60 MB that loading MiniLM frees, and the megabyte of each vault
    that a process closes. Takes about 2 ms for 100 MB; other threads wait when they allocate.
    """
    if os.name == "posix" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
