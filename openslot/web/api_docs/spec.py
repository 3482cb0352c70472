"""The parts of OpenAPI 3.1 and JSON Schema that the documentation shows; the rest is left unread."""

from msgspec import UNSET, Struct, UnsetType

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


class Schema(Struct, frozen=True, rename={"ref": "$ref"}):
    """A JSON Schema."""

    ref: str | None = None
    type: str | list[str] | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    properties: dict[str, "Schema | bool"] = {}
    required: list[str] = []
    additionalProperties: "Schema | bool | None" = None  # noqa: N815 - the wire's own names
    items: "Schema | bool | None" = None
    prefixItems: list["Schema | bool"] = []  # noqa: N815
    oneOf: list["Schema | bool"] = []  # noqa: N815
    anyOf: list["Schema | bool"] = []  # noqa: N815
    allOf: list["Schema | bool"] = []  # noqa: N815
    enum: list[object] = []
    const: object | UnsetType = UNSET
    default: object | UnsetType = UNSET
    example: object | UnsetType = UNSET
    examples: list[object] | dict[str, object] = []
    minimum: float | None = None
    maximum: float | None = None
    exclusiveMinimum: float | None = None  # noqa: N815
    exclusiveMaximum: float | None = None  # noqa: N815
    multipleOf: float | None = None  # noqa: N815
    minLength: int | None = None  # noqa: N815
    maxLength: int | None = None  # noqa: N815
    minItems: int | None = None  # noqa: N815
    maxItems: int | None = None  # noqa: N815
    uniqueItems: bool = False  # noqa: N815
    deprecated: bool = False


Schemas = dict[str, Schema | bool]


class Example(Struct, frozen=True):
    """An example with a name."""

    value: object = None


class Parameter(Struct, frozen=True, rename={"place": "in"}):
    """What a request carries besides its body."""

    name: str = ""
    place: str = "query"
    description: str | None = None
    required: bool = False
    schema: Schema | bool = True
    example: object | UnsetType = UNSET
    examples: dict[str, Example] = {}
    deprecated: bool = False


class Content(Struct, frozen=True):
    """A body in one media type."""

    schema: Schema | bool = True
    example: object | UnsetType = UNSET
    examples: dict[str, Example] = {}


class RequestBody(Struct, frozen=True):
    """What a request brings."""

    content: dict[str, Content] = {}
    description: str | None = None
    required: bool = False


class Answer(Struct, frozen=True):
    """What a request gets back."""

    description: str = ""
    content: dict[str, Content] = {}


class Operation(Struct, frozen=True):
    """One method on one path."""

    tags: list[str] = []
    summary: str | None = None
    description: str | None = None
    operationId: str | None = None  # noqa: N815
    parameters: list[Parameter] = []
    requestBody: RequestBody | None = None  # noqa: N815
    responses: dict[str, Answer] = {}
    deprecated: bool = False
    security: list[dict[str, list[str]]] | None = None


class PathItem(Struct, frozen=True):
    """One path."""

    parameters: list[Parameter] = []
    get: Operation | None = None
    post: Operation | None = None
    put: Operation | None = None
    patch: Operation | None = None
    delete: Operation | None = None
    head: Operation | None = None
    options: Operation | None = None
    trace: Operation | None = None

    def operations(self) -> list[tuple[str, Operation]]:
        """List its operations by method."""
        found = ((method, getattr(self, method)) for method in METHODS)
        return [(method, operation) for method, operation in found if operation is not None]


class Info(Struct, frozen=True):
    """What the API is."""

    title: str = "API"
    version: str = ""
    description: str = ""


class Server(Struct, frozen=True):
    """Where it is served."""

    url: str = ""


class Tag(Struct, frozen=True):
    """A group of operations."""

    name: str
    description: str = ""


class Components(Struct, frozen=True):
    """What is referred to."""

    schemas: Schemas = {}


class Description(Struct, frozen=True):
    """The whole description."""

    info: Info = Info()
    servers: list[Server] = []
    paths: dict[str, PathItem] = {}
    components: Components = Components()
    tags: list[Tag] = []
    security: list[dict[str, list[str]]] = []
