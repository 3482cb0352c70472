"""OpenFeature: a provider that answers from memory, and the client that asks it."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import FlagNotFoundError, TypeMismatchError
from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
from openfeature.provider import AbstractProvider, Metadata, ProviderStatus

from openslot.flags.models import FlagValues


class FlagProvider(AbstractProvider):
    """The flags of this installation as they were last read; every flag is true or false."""

    def __init__(self) -> None:
        super().__init__()
        self.values: FlagValues | None = None
        """None until they have been read."""

    def get_metadata(self) -> Metadata:
        """Name the provider, for hooks."""
        return Metadata(name="openslot")

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Answer for the user that is the context's targeting key, or for everyone."""
        del default_value
        if self.values is None or flag_key not in self.values.flags:
            raise FlagNotFoundError(flag_key)
        user_id = evaluation_context.targeting_key if evaluation_context else None
        own = self.values.overrides.get((flag_key, user_id)) if user_id else None
        if own is not None:
            return FlagResolutionDetails(value=own, reason=Reason.TARGETING_MATCH)
        return FlagResolutionDetails(value=self.values.flags[flag_key], reason=Reason.STATIC)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Refuse: no flag is a text."""
        _refuse(flag_key)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Refuse: no flag is a number."""
        _refuse(flag_key)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Refuse: no flag is a number."""
        _refuse(flag_key)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """Refuse: no flag is an object."""
        _refuse(flag_key)


class FlagClient(OpenFeatureClient):
    """An OpenFeature client of one provider.

    OpenFeature keeps its providers in one list per process; two runtimes in one process have different databases.
    """

    def __init__(self, provider: FlagProvider) -> None:
        super().__init__(domain="openslot", version=None)
        self._provider = provider

    @property
    def provider(self) -> FlagProvider:
        """The provider of this client."""
        return self._provider

    def get_provider_status(self) -> ProviderStatus:
        """Answer that it can be asked at any time: before flags are read, a check gets its default."""
        return ProviderStatus.READY


def _refuse(flag_key: str) -> NoReturn:
    raise TypeMismatchError(f"{flag_key} is true or false")
