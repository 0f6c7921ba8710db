"""How many chunks a processor second embeds: ours, the bare ONNX session, and a padded batch, turn about in one run."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vault_memory.models.embedding.model_files import ModelFiles, minilm_at
from vault_memory.models.embedding.onnx import OnnxEmbedder
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed

CHUNKS = 64
LENGTH = 350
BATCH = 32
ROUNDS = 5
NOTES = Path(__file__).resolve().parent.parent / "sample_vault"


def chunks() -> list[str]:
    """Prose of the sample vault, cut into pieces of one length."""
    text = " ".join(path.read_text("utf-8", "replace") for path in sorted(NOTES.rglob("*.md")))
    plain = " ".join(text.encode("ascii", "ignore").decode().split())
    pieces = [plain[start : start + LENGTH] for start in range(0, len(plain) - LENGTH, LENGTH)]
    assert pieces, "the sample vault holds no text"
    return [pieces[number % len(pieces)] for number in range(CHUNKS)]


def bare(files: ModelFiles, texts: list[str]) -> tuple[Callable[[], None], Callable[[], None]]:
    """What onnxruntime alone needs for the same tokens: one text at a time, and in padded batches."""
    import numpy
    import onnxruntime
    import tokenizers

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(files.model), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    tokenizer.enable_truncation(files.max_tokens)

    def inputs(batch: list[str]) -> dict[str, Any]:
        encoded = tokenizer.encode_batch(batch)
        ids = numpy.array([one.ids for one in encoded], dtype=numpy.int64)
        mask = numpy.array([one.attention_mask for one in encoded], dtype=numpy.int64)
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}

    tokenizer.no_padding()
    single = [inputs([text]) for text in texts]
    tokenizer.enable_padding()
    padded = [inputs(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]

    def run(prepared: list[dict[str, Any]]) -> None:
        for given in prepared:
            session.run(None, given)

    return lambda: run(single), lambda: run(padded)


def per_second(work: Callable[[], object], count: int) -> float:
    """How many of ``count`` things a second of processor time does."""
    started = time.process_time()
    work()
    return count / (time.process_time() - started)


def measure() -> tuple[float, float, float, float]:
    """Medians of chunks per CPU second: ours, bare, padded; and the median of ours : bare, round by round."""
    weights = installed(MINILM_WEIGHTS)
    if weights is None:
        raise SystemExit(
            "error: the packaged model is not installed\n\nhint: `make bench` installs it"
        )
    files = minilm_at(weights)
    texts = chunks()
    embedder = OnnxEmbedder(files)
    single, padded = bare(files, texts)
    single()  # the first run of a session prepares memory
    rounds = []
    for _ in range(ROUNDS):
        ours = per_second(lambda: embedder.embed(texts), CHUNKS)
        rounds.append((ours, per_second(single, CHUNKS), per_second(padded, CHUNKS)))
    ratio = statistics.median(ours / raw for ours, raw, _padded in rounds)
    ours, raw, batched = (statistics.median(column) for column in zip(*rounds, strict=True))
    return ours, raw, batched, ratio


def main() -> None:
    """Print the row of the table."""
    ours, raw, batched, ratio = measure()
    print(
        f"| embedding, {LENGTH}-character chunks per CPU second | {ours:.1f} | bare session {raw:.1f} ({ratio:.0%}) "
        f"| padded batches of {BATCH}: {batched:.1f} |"
    )


if __name__ == "__main__":
    main()
