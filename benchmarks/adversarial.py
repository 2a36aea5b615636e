"""The table of adversarial files: what a byte costs there, over what a byte of English costs in the same process."""

from __future__ import annotations

from typing import Any

from benchmarks.summary import SHOWN, summary_of
from benchmarks.tables import number, table

__all__ = ["adversarial_report", "adversarial_summary"]


def adversarial_report(result: dict[str, Any]) -> str:
    """Return a summary of the engines, the first one's worst files, and whether all its files are in the limit."""
    parameters, rated, names = _parts(result)
    parts = [
        _summary(result, rated, names, parameters["limit"]),
        f"The {parameters['worst']} files that cost {names[0]} most:",
        _worst(rated, names, names[0], parameters["worst"]),
        _verdict(result, rated, names[0], parameters),
    ]
    return "\n\n".join(parts)


def adversarial_summary(result: dict[str, Any]) -> str:
    """Return the same without the worst files."""
    parameters, rated, names = _parts(result)
    verdict = _verdict(result, rated, names[0], parameters)
    return f"{_summary(result, rated, names, parameters['limit'])}\n\n{verdict}"


def _parts(result: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The parameters, the costs of each file and engine, and the names of the engines."""
    parameters = result["parameters"]
    rated = {case["name"]: _costs(case, parameters["smallest"]) for case in result["cases"]}
    return parameters, rated, [row["name"] for row in result["cases"][0]["engines"]]


def _costs(case: dict[str, Any], smallest: int) -> dict[str, dict[str, float]]:
    """Return for each engine with a right result: ns a byte and times English, for the first and for later passes."""
    found = {}
    for row in case["engines"]:
        if row["status"] == "ok" and row["bytes"] >= smallest:
            costs = {key: summary_of(row, "adversarial", key) for key in SHOWN["adversarial"]}
            found[row["name"]] = {key: cost.median for key, cost in costs.items() if cost}
    return found


def _summary(result: dict[str, Any], rated: dict[str, Any], names: list[str], limit: float) -> str:
    rows = []
    for name in names:
        found = [costs[name] for costs in rated.values() if name in costs]
        statuses = [row["status"] for case in result["cases"] for row in case["engines"] if row["name"] == name]
        if set(statuses) == {"not installed"}:
            rows.append([name, "not installed", *["–"] * 6])
            continue
        within = [sum(cost[key] <= limit for cost in found) for key in ("cold_times", "warm_times")]
        worst = [max((cost[key] for cost in found), default=0.0) for key in ("cold_times", "warm_times")]
        different = sum(status.startswith("n/a (different") for status in statuses)
        other = sum(status != "ok" for status in statuses) - different
        shown = [f"{number(value)}×" if found else "–" for value in worst]
        rows.append([name, str(len(found)), *map(str, within), *shown, str(different), str(other)])
    headers = ["engine", "files rated", f"first pass within {limit}×", f"later within {limit}×"]
    return table([*headers, "worst first pass", "worst later", "different ids", "refused or no answer"], rows)


def _worst(rated: dict[str, Any], names: list[str], subject: str, count: int) -> str:
    def cost(case: str) -> float:
        return float(max(rated[case][subject]["cold_times"], rated[case][subject]["warm_times"]))

    chosen = sorted((case for case in rated if subject in rated[case]), key=cost, reverse=True)[:count]
    headers = ["file", *(f"{name}, {when}" for name in names for when in ("first", "later"))]
    rows = [
        [case, *(_cell(rated[case].get(name), when) for name in names for when in ("cold", "warm"))] for case in chosen
    ]
    legend = "Each cell: nanoseconds a byte, and in parentheses how many times the engine's own English."
    return f"{table(headers, rows)}\n\n{legend}"


def _cell(costs: dict[str, float] | None, when: str) -> str:
    return "n/a" if costs is None else f"{number(costs[f'{when}_ns'])} ({number(costs[f'{when}_times'])}×)"


def _verdict(result: dict[str, Any], rated: dict[str, Any], subject: str, parameters: dict[str, Any]) -> str:
    limit, smallest = parameters["limit"], parameters["smallest"]
    rows = {case["name"]: row for case in result["cases"] for row in case["engines"] if row["name"] == subject}
    over = [
        case
        for case, costs in rated.items()
        if subject in costs and max(costs[subject]["cold_times"], costs[subject]["warm_times"]) > limit
    ]
    wrong = [case for case, row in rows.items() if row["status"] != "ok"]
    small = sum(row["status"] == "ok" and row["bytes"] < smallest for row in rows.values())
    unread = sum(row.get("verified", "").startswith("spells") for row in rows.values())
    parts = [
        f"{subject}, all files within {limit} times English: {'no: ' + ', '.join(over) if over else 'yes'}.",
        f"{len(rows)} files; without a right result: {', '.join(wrong) or 'none'}.",
        f"{small} files under {smallest:,} bytes are compared but not rated: they show the fixed cost of a call only.",
        f"{unread} files are not UTF-8: no oracle takes them, and they count as right if the ids spell the input.",
    ]
    return "\n".join([" ".join(parts), *_different(result)])


def _different(result: dict[str, Any]) -> list[str]:
    lines = [f"{row['name']}, {case['name']}: {row['status']}" for case in result["cases"] for row in case["engines"]]
    return [f"- {line}" for line in lines if ": n/a (different" in line]
