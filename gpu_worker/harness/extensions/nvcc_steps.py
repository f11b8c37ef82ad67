"""Runs the steps of nvcc itself, so that the steps for the device run beside those for the host if memory allows."""

import os
import re
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.extensions.memory_room import MemoryRoom
from harness.extensions.toolchain import Stop, run

PREPROCESSED = re.compile(r'-o "([^"]+\.ii)"')


def run_steps(
    command: list[str],
    folder: Path,
    room: MemoryRoom,
    mib: dict[str, int],
    edit: Callable[[Path], None] | None = None,
) -> str:
    """Runs the commands that `nvcc --dryrun` prints: those for the device beside those for the host, and then the rest.
    Where a command for the host fails, those for the device are ended. Returns the error output, or an empty text. If
    the commands are not as expected, nvcc runs as it is. `mib` says how much memory each of nvcc's programs may take.
    `edit` is called with every preprocessed file before another step reads the file.
    """
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
        with room.take(max(mib.values())):
            result = run(command, folder)
        return "" if result.code == 0 else result.text or "nvcc failed"
    # Both sides only read the unit's identity once the file exists, so it is written first.
    Path(folder, identity.group(1)).write_text(f"_{os.urandom(4).hex()}_7_unit_cu_{os.urandom(4).hex()}")
    commands[at] = commands[at].replace("--gen_module_id_file ", "")

    def chain(part: list[str], stop: Stop | None = None) -> str:
        for line in part:
            with room.take(memory_of(line, mib)):
                done = run(line, folder, environment, stop)
            if done.code != 0:
                return done.text or f"{shlex.split(line)[0]} failed"
            if edit is not None and (found := PREPROCESSED.search(line)) is not None:
                edit(folder / found.group(1))
        return ""

    with ThreadPoolExecutor(max_workers=1) as pool:
        stop = Stop()
        device = pool.submit(chain, commands[at + 1 : last], stop)
        try:
            problem = chain(commands[: at + 1])
        except BaseException:
            stop.set()
            raise
        if problem:
            stop.set()
            return problem
        problem = device.result()
    return problem or chain(commands[last:])


def memory_of(line: str, mib: dict[str, int]) -> int:
    program = Path(shlex.split(line)[0]).name
    return mib.get(program, mib["other"] if program.startswith(("gcc", "g++")) else 0)
