"""The include table of docs/design/architecture.md: which room may know which, and which file alone knows a library."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from house import Case, files, lines, run

ROOMS = ("core", "sys", "net", "store", "guard", "broker", "gpu_worker", "producer", "tools")

# Room -> patterns of the headers of other rooms that each of its files may include.
ALLOWED = {
    "core": (),
    "sys": ("core/*",),
    "net": ("core/*", "sys/*"),
    "store": ("core/*", "sys/*"),
    "guard": ("core/*",),
    "broker": (
        "core/*",
        "store/boards.h",
        "store/store.h",
        "store/commit_log.h",
        "store/keys.h",
        "store/reader.h",
        "net/link.h",
    ),
    "gpu_worker": ("core/*", "sys/*", "guard/*"),
    "producer": ("core/*", "sys/*", "net/*"),
    "tools": (
        "core/*",
        "sys/*",
        "net/*",
        "guard/*",
        "store/store.h",
        "store/reader.h",
        "store/verify.h",
        "producer/client/*",
        "producer/overview/*",
        "producer/formats/sample_name.h",
        "producer/submit/pack.h",
        "producer/submit/judge_options.h",
        "producer/submit/naming_options.h",
        "producer/submit/output.h",
        "producer/submit/replaced_rows.h",
        "producer/submit/submit.h",
    ),
}

# A room inside a room, which may include more than its surroundings.
ALLOWED_INSIDE = {
    "producer/gateway/": ("tools/table/*", "tools/report/*", "producer/*"),
}

# What main files, loops, the shell of the broker and its replication may include besides: they construct the sockets
# and the store and connect them.
ALLOWED_IN_MAINS = {
    "broker": ("net/*", "sys/*", "store/rocks/rocks_store.h"),
    "gpu_worker": ("net/*",),
    "tools": ("store/backup.h", "store/rocks/rocks_store.h"),
}

# A trust domain inside a room: the judge may include what the children share with it, and nothing of the control
# process.
WALLS = {"gpu_worker/judge/": ("gpu_worker/judge/*", "core/*", "sys/*", "gpu_worker/channel/*")}

ALLOWED_IN_TESTS = ("store/memory_store.h", "store/temporary_directory.h")

MAINS = ("*/main.cc", "*_main.cc", "*/loop.cc", "*/loop.h", "broker/shell/*", "broker/standby/*")

# Library -> (patterns of its headers, patterns of the files that may include them).
LIBRARIES = {
    "ZeroMQ": (("zmq.h", "zmq.hpp", "zmq_addon.hpp"), ("net/zmq/*",)),
    "RocksDB": (("rocksdb/*",), ("store/rocks/*",)),
    "msgpack": (("msgpack.h", "msgpack.hpp", "msgpack/*"), ("core/codec/msgpack_*_test.cc",)),
    "OpenSSL": (("openssl/*",), ("core/bytes/base64.cc", "core/bytes/hash.cc")),
    "zlib": (
        ("zlib.h",),
        (
            "producer/formats/flashinfer/safetensors.cc",
            "producer/gateway/evaluation/packed_data.cc",
            "tools/report/packing.cc",
        ),
    ),
    "zstd": (("zstd.h", "zstd_errors.h", "zdict.h"), ("core/bytes/compress.cc",)),
    "LZ4": (("lz4.h", "lz4frame.h", "lz4hc.h"), ("core/bytes/compress.cc",)),
    "spdlog": (("spdlog/*", "fmt/*"), (*MAINS, "net/log.*")),
    "ncurses": (("curses.h", "ncurses.h", "ncursesw/*", "term.h"), ("tools/top/terminal_screen.cc",)),
    "cpp-httplib": (("httplib.h",), ("net/http_server.cc",)),
    "CUDA, which is opened with dlopen only,": (
        ("cuda.h", "cuda_runtime*.h", "nvml.h", "nvrtc.h", "cupti*.h", "cuda_fp*.h"),
        (),
    ),
    "GoogleTest": (("gtest/*", "gmock/*"), ("*_test.cc",)),
}

# core is std only, but for what stands in for a std that g++ 12 lacks; libraries it has by the table above come on top.
CORE_EXTRA = {"core/base/error.h": ("tl/expected.hpp",)}

# What core must take as a parameter.
CORE_WORDS = re.compile(
    r"\b(random_device|system_clock|steady_clock|high_resolution_clock|utc_clock|clock_gettime|gettimeofday|getrandom)\b"
)

INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def allowed_headers(path: str) -> tuple[str, ...]:
    for wall, inside in WALLS.items():
        if path.startswith(wall):
            return inside
    room = path.split("/")[0]
    allowed = (f"{room}/*", *ALLOWED[room])
    if matches(path, MAINS):
        allowed += ALLOWED_IN_MAINS.get(room, ())
    for inside, more in ALLOWED_INSIDE.items():
        if path.startswith(inside):
            allowed += more
    if path.endswith("_test.cc"):
        allowed += ALLOWED_IN_TESTS
    return allowed


def is_std(header: str) -> bool:
    return re.fullmatch(r"[a-z_0-9]+", header) is not None


def check_own(path: str, header: str) -> str | None:
    """A header of this tree."""
    if header.split("/")[0] not in ROOMS:
        return f'includes "{header}"; write the path from the root, as in "core/job.h"'
    if not matches(header, allowed_headers(path)):
        return f'includes "{header}"; it may include {", ".join(allowed_headers(path))}'
    return None


def check_library(path: str, header: str) -> str | None:
    for library, (headers, users) in LIBRARIES.items():
        if matches(header, headers):
            if matches(path, users):
                return None
            return f"includes <{header}>; {library} belongs in {', '.join(users) or 'no file'}"
    if path.startswith("core/") and not is_std(header) and header not in CORE_EXTRA.get(path, ()):
        return f"includes <{header}>; core includes the standard library only"
    return None


def check_line(path: str, line: str) -> str | None:
    include = INCLUDE.match(line)
    if include:
        own, library = include.groups()
        # A quoted name may still be a library's.
        if own and not any(matches(own, headers) for headers, _ in LIBRARIES.values()):
            return check_own(path, own)
        return check_library(path, own or library)
    if path.startswith("core/") and not path.endswith("_test.cc"):
        word = CORE_WORDS.search(line.split("//")[0])
        if word:
            return f"uses {word.group()}; core takes time and randomness as parameters"
    return None


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root, ".cc", ".h", ".cu"):
        if path.split("/")[0] not in ROOMS:
            continue
        for number, line in lines(root, path):
            complaint = check_line(path, line)
            if complaint:
                complaints.append(f"{path}:{number}: {complaint}")
    return complaints


def one(path: str, line: str, *violations: str) -> Case:
    return Case(f"{path}: {line}", {path: f"#pragma once\n{line}\n"}, violations)


CASES = [
    one("core/job.h", "#include <vector>"),
    one("core/job.h", '#include "net/link.h"', 'core/job.h:2: includes "net/link.h"; it may include core/*'),
    one("core/job.h", "#include <sys/stat.h>", "core includes the standard library only"),
    one("core/job.h", "#include <nlohmann/json.hpp>", "core includes the standard library only"),
    one("core/base/error.h", "#include <tl/expected.hpp>"),
    one("core/job.cc", "auto t = std::chrono::system_clock::now();", "uses system_clock; core takes time"),
    one("core/job.cc", "// unlike system_clock this does not jump"),
    one("core/job.cc", "#include <msgpack.hpp>", "msgpack belongs in core/codec/msgpack_*_test.cc"),
    one("core/codec/msgpack_reader_test.cc", "#include <msgpack.hpp>"),
    one("core/bytes/hash.cc", "#include <openssl/evp.h>"),
    one("tools/dump.cc", "#include <zstd.h>", "zstd belongs in core/bytes/compress.cc"),
    one("core/job_test.cc", "#include <gtest/gtest.h>"),
    one("core/job.cc", "#include <gtest/gtest.h>", "GoogleTest belongs in *_test.cc"),
    one("net/zmq/link.cc", "#include <zmq.hpp>"),
    one("net/zmq/zap.cc", "#include <zmq.hpp>"),
    one("net/zmq/link.h", '  #  include "zmq.hpp"'),
    one("net/http_server.cc", "#include <zmq.hpp>", "ZeroMQ belongs in net/zmq/*"),
    one("net/link.h", '#include "store/store.h"', 'includes "store/store.h"; it may include net/*, core/*'),
    one("store/rocks/schema.cc", "#include <rocksdb/db.h>"),
    one("store/keys.cc", "#include <rocksdb/db.h>", "RocksDB belongs in store/rocks/*"),
    one("guard/rules.cc", '#include "gpu_worker/plan.h"', 'includes "gpu_worker/plan.h"'),
    one("broker/broker.h", '#include "store/store.h"'),
    one("broker/broker.cc", '#include "store/rocks/rocks_store.h"', 'includes "store/rocks/rocks_store.h"'),
    one("broker/broker.h", '#include "net/link.h"'),
    one("broker/broker.cc", '#include "sys/clock.h"', 'includes "sys/clock.h"'),
    one("broker/shell/main.cc", '#include "net/zmq/link.h"'),
    one("broker/shell/loop.cc", '#include "sys/clock.h"'),
    one("broker/shell/main.cc", '#include "store/rocks/rocks_store.h"'),
    one("broker/shell/main.cc", "#include <spdlog/spdlog.h>"),
    one("broker/shell/loop.cc", "#include <spdlog/spdlog.h>"),
    one(
        "broker/broker.cc",
        "#include <spdlog/spdlog.h>",
        "spdlog belongs in */main.cc, *_main.cc, */loop.cc, */loop.h, broker/shell/*, broker/standby/*, net/log.*",
    ),
    one("broker/broker_test.cc", '#include "store/memory_store.h"'),
    one("broker/broker.cc", '#include "store/memory_store.h"', 'includes "store/memory_store.h"'),
    one("gpu_worker/judge/trial.cc", '#include "gpu_worker/channel/channel.h"'),
    one("gpu_worker/judge/trial.cc", '#include "gpu_worker/lane/lane.h"', 'includes "gpu_worker/lane/lane.h"'),
    one("gpu_worker/lane/lane.cc", '#include "guard/rules.h"'),
    one("gpu_worker/judge/trial.cc", '#include "broker/broker.h"', 'includes "broker/broker.h"'),
    one("gpu_worker/gpu.cc", "#include <nvml.h>", "CUDA, which is opened with dlopen only, belongs in no file"),
    one("producer/client/client.cc", '#include "net/link.h"'),
    one("producer/client/client.cc", '#include "broker/broker.h"', 'includes "broker/broker.h"'),
    one("producer/gateway/rest/runs.cc", '#include "tools/table/csv.h"'),
    one("producer/submit/submit.cc", '#include "tools/table/csv.h"', 'includes "tools/table/csv.h"'),
    one("tools/sweep.cc", '#include "producer/client/client.h"'),
    one("tools/sweep.cc", '#include "producer/formats/kernelbench.h"', 'includes "producer/formats/kernelbench.h"'),
    one("tools/dump.cc", '#include "store/rocks/rocks_store.h"', 'includes "store/rocks/rocks_store.h"'),
    one("tools/programs/dump_main.cc", '#include "store/rocks/rocks_store.h"'),
    one("tools/dump.cc", '#include "exporters/csv.h"', 'write the path from the root, as in "core/job.h"'),
    one("tests/sim/world.cc", '#include "broker/broker.h"'),
]

if __name__ == "__main__":
    run(rule, CASES)
