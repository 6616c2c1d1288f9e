"""What is made of the peers' and Selari's measurements: medians, spreads,
ratios, and a table of them. Pure functions."""

import statistics

KINDS = ("push_apply", "pull", "both")


class BadOutput(ValueError):
    """A program printed something else than was agreed on."""


def read_peer(line):
    """A peer's JSON object, checked: {kind: bytes per second}, or the reason
    why it is not measured, as a string."""
    if isinstance(line.get("not_measured"), str):
        return line["not_measured"]
    return {kind: _rate(line, f"{kind}_bytes_per_second") for kind in KINDS}


def read_selari(report):
    """`selari bench wire --json`, checked: the rates of Selari and those of
    raw TCP in the same run, each {kind: bytes per second}."""
    rates, raw = {}, {}
    for kind in KINDS:
        if not isinstance(report.get(kind), dict):
            raise BadOutput(f"selari bench wire told nothing of {kind}")
        rates[kind] = _rate(report[kind], "bytes_per_second")
        raw[kind] = _rate(report[kind], "raw_tcp_bytes_per_second")
    return rates, raw


def _rate(values, key):
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) \
            or not 0 < value < float("inf"):
        raise BadOutput(f"{key} is {value!r} instead of a rate")
    return float(value)


def spread(values):
    """{median, min, max} of at least one value."""
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values)}


def compare(rates, base):
    """`rates` and `base` are lists of {kind: rate} in the order of the repeats,
    of which some may be missing (None). For each kind the spread of `rates`
    and how many times as fast `base` is: the ratio of the medians, and the
    least and the most of a repeat; None when they never ran in one repeat."""
    result = {}
    for kind in KINDS:
        own = [row[kind] for row in rates if row]
        if not own:
            continue
        result[kind] = {"bytes_per_second": spread(own), "ratio": None}
        ratios = [b[kind] / r[kind] for r, b in zip(rates, base) if r and b]
        if ratios:
            others = [row[kind] for row in base if row]
            result[kind]["ratio"] = {**spread(ratios), "median": (
                statistics.median(others) / statistics.median(own))}
    return result


def summary(rows, base_name):
    """rows: {name: {"version", "rates", "note"}}; the note says why rates are
    missing. The same with the comparisons, for JSON and `table`."""
    base = rows[base_name]["rates"]
    return {
        name: {"version": row["version"], "note": row["note"],
               "kinds": compare(row["rates"], base)}
        for name, row in rows.items()
    }


def table(summary_, base_name):
    """Text for people: one block a kind, one line a row."""
    width = max(len(_title(name, row)) for name, row in summary_.items()) + 2
    lines = []
    for kind in KINDS:
        lines.append(f"{kind + ', GB/s':{width}}{'median':>8}{'min-max':>15}"
                     f"{base_name + ' is':>12}{'min-max':>15}")
        for name, row in summary_.items():
            lines.append(_line(kind, name, row, width, name == base_name))
        lines.append("")
    return "\n".join(lines)


def _line(kind, name, row, width, is_base):
    line = f"{_title(name, row):{width}}"
    if kind in row["kinds"]:
        rate = row["kinds"][kind]["bytes_per_second"]
        ratio = row["kinds"][kind]["ratio"]
        line += f"{rate['median'] / 1e9:8.2f}{_range(rate, 1e9):>15}"
        if ratio and not is_base:
            line += f"{ratio['median']:11.2f}x{_range(ratio, 1):>15}"
    return f"{line}  {row['note']}".rstrip()


def _title(name, row):
    return f"{name} {row['version']}".strip()


def _range(values, unit):
    return f"{values['min'] / unit:.2f}-{values['max'] / unit:.2f}"
