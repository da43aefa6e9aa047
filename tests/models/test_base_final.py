"""A class of the models room is abstract or final: what one class does, no other does differently under its name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import FunctionType

import relatum.models
from relatum.models.base import Model
from relatum.models.combine import hook

HOOKS = {
    "Model.encode",
    "Model.midpoint",
    "ProductModel.init_parameters",
    *(f"Combine.{name}" for name in ("compact", "count_better", "top", "top_of_compact")),
}


def classes() -> list[type]:
    """Return all classes that modules of the room define."""
    modules = [
        importlib.import_module(f"relatum.models.{found.name}") for found in pkgutil.iter_modules(relatum.models.__path__)
    ]
    defined = {one for module in modules for _, one in inspect.getmembers(module, inspect.isclass)}
    return sorted((one for one in defined if one.__module__.startswith("relatum.models.")), key=lambda one: one.__qualname__)


def methods(one: type) -> dict[str, FunctionType]:
    """Return the methods that a class itself defines; special ones work together by calling those before them."""
    unwrapped = {
        name: getattr(value, "fget", None) or getattr(value, "__func__", None) or getattr(value, "func", None) or value
        for name, value in vars(one).items()
        if not name.startswith("__")
    }
    return {name: value for name, value in unwrapped.items() if isinstance(value, FunctionType)}


def overridden(one: type) -> list[str]:
    """Return the concrete methods of the room that a class overrides, hooks left out."""
    return [
        f"{one.__qualname__}.{name} overrides {base.__qualname__}.{name}"
        for name in methods(one)
        for base in one.__mro__[1:]
        if base.__module__.startswith(("relatum.models.", "tests.", __name__)) and name in methods(base)
        if not (inspect.isabstract(base) and getattr(methods(base)[name], "__isabstractmethod__", False))
        if not hasattr(methods(base)[name], "is_hook")
    ]


def test_no_concrete_method_is_overridden() -> None:
    assert [found for one in classes() for found in overridden(one)] == []


def test_no_model_inherits_from_one_that_can_be_built() -> None:
    built = [one for one in classes() if issubclass(one, Model) and not inspect.isabstract(one)]
    assert len(built) == len(relatum.models.MODELS)
    assert [one for one in built if any(base in built for base in one.__mro__[1:])] == []


def test_hooks_are_few() -> None:
    marked = {
        f"{one.__qualname__}.{name}"
        for one in classes()
        for name, found in methods(one).items()
        if hasattr(found, "is_hook")
    }
    assert marked == HOOKS


def test_an_overridden_method_would_be_found() -> None:
    class Parent:
        def plain(self) -> int:
            return 1

        @hook
        def marked(self) -> int:
            return 1

    class Child(Parent):
        def plain(self) -> int:
            return 2

        def marked(self) -> int:
            return 2

    assert [found.rpartition(".")[2] for found in overridden(Child)] == ["plain"]
