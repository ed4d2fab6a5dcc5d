"""The assets by which DAGs hear of one another.

    kg:extracted   somebody else's pipeline has put new triples into the graph: starts `nightly_audit`
    kg:indexed     `index_documents` has made a new version of the index
    kg:audited     an audit that judged something is in the state: starts `release_gate`
    kg:released    the gate let a version pass, by itself or by a person's word

The URIs begin with x-: for other schemes Airflow looks through all providers each time a DAG file is read.
"""

from __future__ import annotations

from airflow.sdk import Asset

EXTRACTED = Asset(name="kg:extracted", uri="x-kgaudit://kg/extracted")
INDEXED = Asset(name="kg:indexed", uri="x-kgaudit://kg/indexed")
AUDITED = Asset(name="kg:audited", uri="x-kgaudit://kg/audited")
RELEASED = Asset(name="kg:released", uri="x-kgaudit://kg/released")
