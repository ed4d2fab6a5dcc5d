"""Somebody else's pipeline that waits for a released graph."""

from airflow.sdk import Asset, dag, task

RELEASED = Asset(name="kg:released", uri="x-kgaudit://kg/released")


@dag(schedule=[RELEASED])
def after_release():
    @task(inlets=[RELEASED])
    def load(triggering_asset_events=None):
        """Returns what the event says of the released version."""
        return [event.extra for event in triggering_asset_events[RELEASED]]

    load()


after_release()
