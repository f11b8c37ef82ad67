"""Steps."""

import os
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.extensions.toolchain import run


def side_by_side(command: list[str], folder: Path) -> str:
    """Runs what `nvcc --dryrun` says: preprocessing and compiling for the device beside the same for the host. Returns what went wrong."""
    result = run([*command, "--dryrun"], folder)
    lines = [line[3:].strip() for line in result.text.splitlines() if line.startswith("#$ ")]
    if result.code != 0 or not lines:
        return result.text or "nvcc failed"
    environment: dict[str, str] = {}
    commands = []
    for line in lines:
        name, mark, value = line.partition("=")
        if mark and re.fullmatch(r"[A-Za-z_]+", name):
            environment[name] = (
                value.strip().strip('"') if name not in ("INCLUDES", "LIBRARIES", "SYSTEM_INCLUDES") else value
            )
        elif not line.startswith(("rm ", "erase ")):
            commands.append(line)
    at = next((i for i, line in enumerate(commands) if re.match(r'"?\S*cudafe\+\+', line)), None)
    last = len(commands) - 1
    identity = re.search(r'--module_id_file_name "([^"]+)"', " ".join(commands))
    if at is None or identity is None or at >= last - 1:
        result = run(command, folder)
        return "" if result.code == 0 else result.text or "nvcc failed"
    # Both sides only read this name of the unit once it is there.
    Path(folder, identity.group(1)).write_text(f"_{os.urandom(4).hex()}_7_unit_cu_{os.urandom(4).hex()}")
    commands[at] = commands[at].replace("--gen_module_id_file ", "")

    def chain(part: list[str]) -> str:
        for line in part:
            done = run(line, folder, environment)
            if done.code != 0:
                return done.text or f"{shlex.split(line)[0]} failed"
        return ""

    with ThreadPoolExecutor(max_workers=2) as pool:
        host = pool.submit(chain, commands[: at + 1])
        device = pool.submit(chain, commands[at + 1 : last])
        problems = [problem for problem in (host.result(), device.result()) if problem]
    return problems[0] if problems else chain(commands[last:])
