"""kgaudit in Airflow 3.3: connections, operators, asset events, links to reports, and a page of them inside Airflow's own UI.

    provider       what Airflow is told when it starts: connection types, settings, links
    hooks          connections `kgaudit_kg` and `kgaudit_model`, with their tests
    operators      SelectNewTriples, VerifyShard, MergeVerdicts, ValidateVerdicts, PublishReport, GateRelease, AskForRelease,
                   AnnounceRelease, IndexDocuments
    triggers       waits for a shard outside a worker's slot
    assets         kg:extracted, kg:indexed, kg:audited, kg:released
    plugin         the pages of reports
    dags           nightly_audit, release_gate, index_documents: a DAG bundle can be pointed at this folder

Nothing of kgaudit outside this package imports Airflow. Modules that a DAG file imports load neither numpy nor pyarrow: they are read
again and again by the DAG processor.
"""
