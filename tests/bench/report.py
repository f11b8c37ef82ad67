"""Combines the figures of many runs into one JSON value, and formats that value as a table."""

import statistics
from typing import Any

from servers import Figures, Kind

PIPELINED_TARGET = 1.0  # at least this many times the rate of Redis
UNLOADED_TARGET = 1.5  # at most this many times the floor

Rows = dict[str, dict[str, list[Figures]]]  # server -> row -> runs

# The table's columns in order: heading, name of the figure, format.
COLUMNS = (
    ("jobs/s", "jobs_per_s", "{:,.0f}"),
    ("put p50 us", "put_p50_us", "{:,.0f}"),
    ("put p99 us", "put_p99_us", "{:,.0f}"),
    ("lease p99 us", "lease_p99_us", "{:,.0f}"),
    ("server CPU us", "server_cpu_us", "{:.1f}"),
    ("client CPU us", "client_cpu_us", "{:.1f}"),
    ("resident MB", "resident_mb", "{:,.0f}"),
    ("first lease s", "first_lease_s", "{:.2f}"),
    ("slowed", "slowed_share", "{:.0%}"),
    ("others' CPU", "others_cpu_share", "{:.0%}"),
)


def folded(runs: list[Figures]) -> dict[str, dict[str, float]]:
    """Returns median, min and max of each figure over the runs."""
    return {
        name: {
            "median": statistics.median(run[name] for run in runs),
            "min": min(run[name] for run in runs),
            "max": max(run[name] for run in runs),
        }
        for name in runs[0]
    } | {"runs": {"median": len(runs), "min": len(runs), "max": len(runs)}}


def summary(rows: Rows, troubles: dict[str, dict[str, str]], kinds: list[tuple[Kind, str]]) -> dict[str, Any]:
    """Returns {"kq": {...}, "peers": {NAME: {...}}, "limits": {...}}; the main figures of each server come first."""
    servers: dict[str, Any] = {}
    for kind, version in kinds:
        table = {row: folded(runs) for row, runs in rows.get(kind.name, {}).items()}
        one: dict[str, Any] = {"version": version, "durable_ack": True, "acknowledges": kind.durable_ack}
        if "pipelined" in table:
            one["jobs_per_s"] = table["pipelined"]["jobs_per_s"]["median"]
        if "clients_64" in table:
            one["clients_64_jobs_per_s"] = table["clients_64"]["jobs_per_s"]["median"]
        if "unloaded" in table:
            one["put_p50_us"] = table["unloaded"]["put_p50_us"]["median"]
            one["put_p99_us"] = table["unloaded"]["put_p99_us"]["median"]
        servers[kind.name] = one | {"rows": table, "troubles": troubles.get(kind.name, {})}
    limits = (
        {name: value["median"] for name, value in folded(rows["limits"]["limits"]).items()} if "limits" in rows else {}
    )
    if limits:
        limits["submit_floor_p50_us"] = limits["zeromq_round_trip_p50_us"] + limits["commit_1_p50_us"]
    return {"kq": servers.pop("kq", {}), "peers": servers, "limits": limits}


def as_table(result: dict[str, Any]) -> str:
    """Returns the table with notes below it, as Markdown."""
    servers = {"kq": result["kq"], **result["peers"]}
    names: list[str] = []
    for server in servers.values():
        names += [row for row in server["rows"] if row not in names]
    lines = [
        "| row | server | " + " | ".join(heading for heading, _, _ in COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 2) + "|",
    ]
    for row in names:
        for name, server in servers.items():
            if row in server["rows"]:
                cells = (cell(server["rows"][row].get(figure), form) for _, figure, form in COLUMNS)
                lines.append(f"| {row} | {name} | " + " | ".join(cells) + " |")
    lines += [f"- {name}, {row}: {why}" for name, server in servers.items() for row, why in server["troubles"].items()]
    lines += [f"- {name} is missing: {hint}" for name, hint in result["missing"].items()]
    lines += [f"- {sentence}" for sentence in comparisons(result)]
    lines += [f"- {name} {value:,.0f}" for name, value in result["limits"].items()]
    return "\n".join(lines)


def cell(figure: dict[str, float] | None, form: str) -> str:
    if figure is None:
        return ""
    median = form.format(figure["median"])
    if figure["min"] == figure["max"]:
        return median
    return f"{median} ({form.format(figure['min'])}-{form.format(figure['max'])})"


def comparisons(result: dict[str, Any]) -> list[str]:
    """Returns sentences that compare kq with the other servers and with the limits of the machine."""
    kq, peers, limits = result["kq"], result["peers"], result["limits"]
    sentences = []
    for row, figure in (("pipelined", "jobs_per_s"), ("clients_64", "clients_64_jobs_per_s")):
        rates = {name: peer[figure] for name, peer in peers.items() if figure in peer}
        if figure in kq and rates:
            best = max(rates, key=lambda name: rates[name])
            sentences.append(
                f"{row}: kq has {kq[figure] / rates[best]:.2f} times the rate of {best}, the best durable peer"
            )
    redis = peers.get("redis", {}).get("jobs_per_s")
    if redis and "jobs_per_s" in kq:
        sentences.append(
            f"pipelined: kq has {kq['jobs_per_s'] / redis:.2f} times the rate of redis; the target is at least "
            f"{PIPELINED_TARGET:g}"
        )
    if limits and "put_p50_us" in kq:
        floor = limits["submit_floor_p50_us"]
        sentences.append(
            f"unloaded: p50 is {kq['put_p50_us'] / floor:.2f} times the floor of {floor:.0f} us; the target is at most "
            f"{UNLOADED_TARGET:g}"
        )
    return sentences
