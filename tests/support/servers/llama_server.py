"""llama.cpp's own HTTP server, which ships with its library, in a separate process."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_PROGRAM = """
import sys
import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostname = "127.0.0.1"
parameters.port = 0
parameters.n_ctx = 1024
parameters.n_parallel = 1
parameters.n_gpu_layers = 0
parameters.warmup = False
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
parameters.embedding = sys.argv[2] == "embedding"
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def running_llama_server(model: Path, *, embedding: bool = False) -> Iterator[str]:
    """Run a server until the block ends, and yield its address."""
    command = [sys.executable, "-c", _PROGRAM, str(model), "embedding" if embedding else "chat"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            yield next(line.strip() for line in lines if line.startswith("http"))
        finally:
            process.kill()
