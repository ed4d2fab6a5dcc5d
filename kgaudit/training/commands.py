"""`kgaudit train`: makes models from recipes."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def train() -> None:
    """Train models (needs kgaudit[train])."""


@train.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the judge; a training that was ended goes on.")
def judge(recipe: Path, out: Path) -> None:
    """Make the embedded judge from RECIPE: data, cue model, encoder, calibration, model card. Use it by `audit --judge OUT`."""
    from kgaudit.training.judge import train_judge
    from kgaudit.training.recipe import read_recipe

    train_judge(read_recipe(recipe), out, click.echo)
    click.echo(f"the judge lies in {out}; its card is {out / 'MODEL_CARD.md'}")


COMMANDS = (train,)
