"""The commands `serve-command` and `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kgaudit.errors import UsageError

if TYPE_CHECKING:
    from kgaudit.models.doctor import Finding


@click.command("serve-command")
@click.argument("model")
@click.option("--name", default="", help="Name under which the model is served; default: the last part of MODEL.")
@click.option("--adapter", "adapters", multiple=True, metavar="NAME=FOLDER", help="LoRA adapter to serve beside it. Repeatable.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@click.option("--context", type=click.IntRange(512), default=8192, show_default=True, help="Tokens of prompt and answer together.")
@click.option("--gpus", type=click.IntRange(1), default=1, show_default=True, help="GPUs that one copy of the model is split over.")
@click.option("--cpu", is_flag=True, help="For a machine without a GPU.")
@click.option(
    "--cpu-memory", "cpu_memory_gb", type=click.IntRange(1), default=4, show_default=True, help="GB for the key-value cache on the CPU."
)
@click.option(
    "--batch-invariant/--no-batch-invariant", default=True, show_default=True, help="The same answers whatever the load (GPU only)."
)
@click.option("--reasoning-parser", default="", help="vLLM's parser for the thoughts of a model that thinks aloud.")
def serve_command(adapters: tuple[str, ...], **options: Any) -> None:
    """Print the vLLM command line that serves MODEL (a name or folder) for `kgaudit audit --model`."""
    from kgaudit.models.serve import ServeOptions, command_line, remarks, served_name

    pairs = []
    for adapter in adapters:
        name, equals, folder = adapter.partition("=")
        if not (name and equals and folder):
            raise UsageError(f"--adapter {adapter}: no name and folder", todo="Write --adapter NAME=FOLDER.")
        pairs.append((name, folder))
    made = ServeOptions(adapters=tuple(pairs), **options)
    click.echo(command_line(made))
    reached = "127.0.0.1" if made.host in ("0.0.0.0", "::") else made.host
    click.echo(f"# then: kgaudit doctor openai:http://{reached}:{made.port}/v1#{served_name(made)}")
    for remark in remarks(made):
        click.echo(f"# {remark}")


@click.command()
@click.argument("model")
def doctor(model: str) -> None:
    """Look over the endpoint of MODEL (openai:http://host:8000/v1#name): what it can do, what it lacks, how to mend it.

    Exit status 0: an audit can run with it. 2: it cannot.
    """
    import asyncio

    from kgaudit.models.address import parse_model
    from kgaudit.models.doctor import examine
    from kgaudit.models.opening import require_client

    address = parse_model(model)
    require_client(model)

    async def printed() -> bool:
        usable = True
        async for finding in examine(address):
            _print_finding(finding)
            usable = usable and finding.level != "fault"
        return usable

    if not asyncio.run(printed()):
        raise click.exceptions.Exit(2)


def _print_finding(finding: Finding) -> None:
    from kgaudit.text import visible

    mark = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}[finding.level]
    click.echo(f"{mark} {finding.what}: {visible(finding.said)}")
    if finding.todo:
        click.echo(f"        {visible(finding.todo)}")


COMMANDS: list[click.Command] = [serve_command, doctor]
