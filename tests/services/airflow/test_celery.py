"""Many shards over two Celery workers on PostgreSQL and Redis, while a worker, the scheduler and Redis are ended and start again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from harness import scale
from harness.deployment import Cluster, Missing
from harness.scale import Ground, Outcome
from in_process import give_up

TRIPLES, SHARDS = 720, 6


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return scale.prepare(tmp_path_factory.mktemp("ground"), TRIPLES)


@pytest.fixture(scope="module")
def outcome(ground: Ground) -> Iterator[Outcome]:
    try:
        cluster = Cluster(settings={**scale.FAST_LOSSES, **ground.settings})
        with cluster:
            yield scale.run_shards(cluster, ground, SHARDS, losses=True)
    except Missing as why:
        give_up(str(why))


def test_the_run_completes(outcome: Outcome) -> None:
    assert outcome.state == "success", outcome.tasks
    assert len(outcome.shard_tasks()) == SHARDS
    assert json.loads((outcome.run / "summary.json").read_text())["status"] == "complete"


def test_every_triple_is_there_once_with_the_verdict_of_an_undisturbed_run(ground: Ground, outcome: Outcome) -> None:
    found = scale.verdicts(outcome.run)
    assert set(found.values()) == {1}
    assert {key for key, _ in found} == set(ground.corpus.truth)
    assert found == scale.verdicts(scale.audit_alone(ground))


def test_what_was_durable_in_the_killed_shard_is_not_repeated(outcome: Outcome) -> None:
    assert outcome.killed is not None
    assert outcome.killed.durable > 0
    summary = json.loads((outcome.run / "shards" / outcome.killed.shard / "summary.json").read_text())
    assert summary["verified_before"] == outcome.killed.durable
    assert summary["verified_now"] == TRIPLES // SHARDS - outcome.killed.durable
    killed = next(one for one in outcome.shard_tasks() if one["rendered_map_index"] == outcome.killed.shard)
    assert killed["try_number"] > 1
