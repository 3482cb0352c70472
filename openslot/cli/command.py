"""A command: a function whose first argument is the work or the runtime, and whose answer is printed for its reader."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import typer

from openslot.cli.output import Answer, AsJson, show
from openslot.platform.core.work import Runtime, Work
from openslot.processes.runtimes import with_runtime, with_work

PageNumber = Annotated[int, typer.Option(min=1, max=1_000_000)]
Limit = Annotated[int, typer.Option(min=1, max=1000)]
CommandFunction = Callable[..., Coroutine[Any, Any, Answer]]
AS_JSON = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
YES = inspect.Parameter(
    "yes",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation")],
)


def group(help_: str) -> typer.Typer:
    return typer.Typer(help=help_, no_args_is_help=True, add_completion=False)


def command(app: typer.Typer, name: str, *, confirm: str | None = None) -> Callable[[CommandFunction], CommandFunction]:
    """Add a command with the function's other arguments and `--json`; with `confirm`, that question comes first.

    A function of the `work` runs in one transaction, a function of the `runtime` opens its own.
    """

    def add(run: CommandFunction) -> CommandFunction:
        first, *others = inspect.signature(run).parameters.values()
        begin = with_work if first.annotation is Work else with_runtime
        if first.annotation not in {Work, Runtime}:
            raise TypeError(f"{run.__name__} must take the work or the runtime first")

        def execute(*, as_json: bool, yes: bool = True, **given: object) -> None:
            if confirm is not None and not yes:
                typer.confirm(confirm.format_map(given), abort=True, err=True)
            show(begin(lambda work: run(work, **given)), as_json=as_json)

        options = [*others, *([YES] if confirm else []), AS_JSON]
        execute.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in options]
        )
        execute.__annotations__ = {each.name: each.annotation for each in options}
        app.command(name, help=inspect.getdoc(run))(execute)
        return run

    return add
