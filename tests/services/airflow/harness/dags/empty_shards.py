"""Mapped tasks that do nothing: what Airflow itself costs a shard."""

from airflow.sdk import Param, dag, task


@dag(schedule=None, params={"shards": Param(20, type="integer")}, max_active_runs=1)
def empty_shards():
    @task
    def names(params=None):
        return [f"{number:05d}" for number in range(params["shards"])]

    @task
    def nothing(name):
        pass

    nothing.expand(name=names())


empty_shards()
