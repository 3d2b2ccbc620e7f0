# SPDX-License-Identifier: Apache-2.0
"""The dashboard for Grafana (docs/grafana/fpless.json): the metrics that its queries name, and what its schema asks."""

import json
import os
import re

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "grafana", "fpless.json")
# Labels that Prometheus gives itself.
OF_PROMETHEUS = {"instance", "job"}
COLUMNS = 24


def read():
    with open(PATH, encoding="utf-8") as file:
        return json.load(file)


def expressions(dashboard):
    """(where, query), of panels and variables."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


def metrics_of(dashboard):
    """{metric: labels that queries, their groups and their legends name with it}."""
    found = {}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            for metric, labels in metrics_in(target["expr"], target["legendFormat"]).items():
                found.setdefault(metric, set()).update(labels)
    for _, text in expressions(dashboard):
        for metric in metrics_in(text):
            found.setdefault(metric, set())
    return found


def metrics_in(text, legend=""):
    """Labels of a query belong to each metric in it: those that it chooses, groups by, or shows."""
    labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", text)) | set(re.findall(r"\{\{(\w+)\}\}", legend))
    for group in re.findall(r"\b(?:by|without)\s*\(([^)]*)\)", text):
        labels |= {label.strip() for label in group.split(",")}
    return {metric: labels - OF_PROMETHEUS for metric in re.findall(r"\bfpless_\w+", text)}


def exported(text):
    """{metric: labels} of what is exported, as Prometheus's text."""
    found = {}
    for line in text.splitlines():
        family = re.match(r"# TYPE (\w+) ", line)
        if family:
            found.setdefault(family[1], set())
        series = re.match(r"(\w+)\{(.*)\} ", line)
        if series:
            found.setdefault(series[1], set()).update(re.findall(r"(\w+)=\"", series[2]))
    return found


def missing(dashboard, text, prefix):
    """Metrics that begin with @prefix, and labels of these, that the dashboard has and @text does not export."""
    known = exported(text)
    return sorted(f"{metric}: {'not exported' if metric not in known else sorted(labels - known[metric])}"
                  for metric, labels in metrics_of(dashboard).items()
                  if re.match(prefix, metric) and (metric not in known or labels - known[metric]))


def faults(dashboard):
    """What Grafana would not load, or show wrongly."""
    found = [f"no {key}" for key in ("title", "uid", "schemaVersion", "panels", "templating", "time") if key not in dashboard]
    ids, cells, variables = set(), {}, {variable["name"] for variable in dashboard["templating"]["list"]}
    for panel in dashboard["panels"]:
        where, title = panel["gridPos"], panel["title"]
        if panel["id"] in ids:
            found.append(f"{title}: its id is another's")
        ids.add(panel["id"])
        if where["x"] < 0 or where["x"] + where["w"] > COLUMNS or where["h"] < 1 or where["w"] < 1:
            found.append(f"{title}: beyond the {COLUMNS} columns")
        for x in range(where["x"], where["x"] + where["w"]):
            for y in range(where["y"], where["y"] + where["h"]):
                if cells.setdefault((x, y), title) != title:
                    found.append(f"{title}: lies on {cells[x, y]}")
        refs = [target["refId"] for target in panel["targets"]]
        if not refs or len(set(refs)) != len(refs):
            found.append(f"{title}: queries need names of their own")
        for target in (panel, *panel["targets"]):
            if target["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
                found.append(f"{title}: of another data source than is chosen")
        if not panel["description"] or not panel["fieldConfig"]["defaults"]["unit"]:
            found.append(f"{title}: without a description or a unit")
    for where, text in expressions(dashboard):
        unknown = {name for name in re.findall(r"\$(?!__)\{?(\w+)", text)} - variables
        if unknown:
            found.append(f"{where}: unknown variables {sorted(unknown)}")
        if text.count("(") != text.count(")") or text.count("{") != text.count("}") or text.count("[") != text.count("]"):
            found.append(f"{where}: brackets that do not close")
        # a counter alone is the age of its process
        for metric in re.findall(r"\bfpless_\w+_total\b", text):
            if not re.search(rf"(?:rate|increase)\({metric}\b", text):
                found.append(f"{where}: {metric} is a counter")
    return found
