"""What an audit found, for OpenLineage: the data-quality facets of the graph as a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgaudit.airflow.connections import KgConnection


def lineage(kg: KgConnection, run: Path, outcome: Any) -> Any:
    """An `OperatorLineage` whose input is the graph, with counts of verdicts and the expectations that hold or do not.

    `outcome` is that of the validation. Asks Airflow for nothing: it runs in a process that cannot.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import data_quality_assertions_dataset, data_quality_metrics_input_dataset

    from kgaudit.airflow.served import read_object

    verdicts = read_object(run / "summary.json").get("verdicts") or {}
    metrics = data_quality_metrics_input_dataset
    columns = {name: metrics.ColumnMetrics(count=float(number)) for name, number in verdicts.items()}
    assertion = data_quality_assertions_dataset.Assertion
    found = [assertion(assertion=check.type, success=check.success, actual=check.words) for check in outcome.checks]
    facets: dict[str, Any] = {
        "dataQualityMetrics": metrics.DataQualityMetricsInputDatasetFacet(rowCount=sum(verdicts.values()), columnMetrics=columns),
        "dataQualityAssertions": data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(assertions=found),
    }
    namespace, name = dataset_name(kg)
    return OperatorLineage(inputs=[InputDataset(namespace=namespace, name=name, inputFacets=facets)])


def dataset_name(kg: KgConnection) -> tuple[str, str]:
    """Namespace and name of the graph, as OpenLineage names files and services."""
    if kg.is_endpoint:
        parts = urlsplit(kg.graph)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path or "/"
    return "file", kg.graph
