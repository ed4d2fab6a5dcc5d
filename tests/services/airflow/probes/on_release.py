"""Runs when a version is released: what a user's own pipeline behind the gate looks like."""

from __future__ import annotations

from airflow.sdk import dag, task

from kgaudit.airflow.assets import RELEASED


@dag(schedule=[RELEASED], tags=["test"])
def on_release() -> None:
    @task
    def publish() -> str:
        return "published"

    publish()


on_release()
