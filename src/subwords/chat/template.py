"""A chat template, compiled: Jinja as transformers runs it, whose literals are trusted and whose loops tell turns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache, wraps
from itertools import islice
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame, optimizeconst
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import FILTERS as DEFAULT_FILTERS
from jinja2.optimizer import Optimizer
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro, markup_join
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS as DEFAULT_TESTS
from jinja2.utils import Namespace
from markupsafe import Markup, escape

from subwords.chat import limits, owned_text
from subwords.chat.limits import LARGE_STRING, MOST_TEXT, NODE, LimitError, is_light
from subwords.chat.owned_text import OUTSIDE, OwnedText, Owner, Record, printed
from subwords.chat.passes import Effects
from subwords.support.errors import InputError

MOST_STEPS = 4_000_000  # passes of loops in one rendering
LOOK = 64  # of them between two looks at the clock
CALL = 10  # steps that a call of a macro counts as
MOST_KEPT = 256  # compiled templates
MOST_SOURCE = 1 << 17  # characters of one
_UNDEFINED_ROLE = re.compile(r"'(bos|eos|unk|pad|cls|sep|mask)_token' is undefined")
MOST_TOLD = 2000  # characters of what a template raises
_WRITING = frozenset({"join", "default", "d", "format", "append", "map", "center", "indent"})  # their arguments too
_DICT_NAMES = frozenset(dir(dict))
_UNSAFE = frozenset({"encode", "to_bytes"})  # they make bytes of any size
# What the sandbox lets through as it is.
_LOOP_VALUES = frozenset(["index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"])
_TEXT_METHODS = frozenset(name for name in dir(str) if name[0] != "_") - _UNSAFE - {"format", "format_map"}


class Written(NamedTuple):
    """Text that a template writes, and the message at which its loop then is, or -1."""

    text: OwnedText
    turn: int


class TemplateInputError(InputError):
    """What is wrong with a template, or with a conversation for it.

    line: of the template; None if it is unknown. stopped: by a limit.
    """

    def __init__(self, message: str, line: int | None = None, *, stopped: bool = False) -> None:
        super().__init__(message)
        self.line, self.stopped = line, stopped


class ChatTemplate:
    """A compiled chat template; any number of threads may share it.

    >>> template = ChatTemplate("{{ a }}<|end|>")
    >>> [(piece.text, piece.turn) for piece in template.pieces({"a": "x"})]
    [('x', -1), ('<|end|>', -1)]
    """

    def __init__(self, source: str) -> None:
        self.source: str = source
        if len(source) > MOST_SOURCE:
            raise InputError(f"invalid chat template: {len(source):,} characters, more than {MOST_SOURCE:,}")
        try:
            limits.begin_work()
            self._template = environment().from_string(source)
        except TemplateSyntaxError as error:
            told = f"invalid chat template, line {error.lineno}: {error.message}"
            raise TemplateInputError(told, error.lineno) from None
        except (TemplateError, SyntaxError, RecursionError, MemoryError, ArithmeticError, ValueError) as error:
            raise InputError(f"invalid chat template: {error or type(error).__name__}") from None
        names = self._template.root_render_func.__globals__
        self.literals: list[OwnedText] = [value for value in names.values() if type(value) is OwnedText]

    @cached_property
    def _tree(self) -> nodes.Template:
        return environment().parse(self.source)

    @cached_property
    def written(self) -> frozenset[str]:
        """The literals that may be written: those that are not only compared with, or cut at."""
        return frozenset(_written(self._tree))

    @cached_property
    def takes_tools(self) -> bool:
        """Whether the template asks for tools."""
        return any(node.name == "tools" for node in self._tree.find_all(nodes.Name))

    def pieces(self, variables: Mapping[str, Any], first: int = 0) -> list[Written]:
        """Return what the template writes; InputError for whatever it raises.

        first: the number of a message; what is written before its turn is not needed, and may be left out (H6).
        """
        context = self._template.new_context(dict(variables))
        assert isinstance(context, _Context), "the environment makes such"
        turns, found, room = context._turns, context._written, MOST_TEXT
        context._first = first
        try:
            limits.begin_work()
            for text in self._template.root_render_func(context):
                if text:
                    found.append(Written(text if type(text) is OwnedText else OwnedText(text), turns[-1]))
                    room -= len(text)
                    if room < 0:
                        limits.limit(MOST_TEXT - room)
        except LimitError as error:
            raise self._failure(error, f"is stopped: {error}") from None
        except RecursionError as error:
            raise self._failure(error, "is stopped: its calls, or the values given, are nested too deep") from None
        except TemplateError as error:
            told = f"refuses this conversation: {error.message}"
            if role := _UNDEFINED_ROLE.fullmatch(error.message or ""):
                told += f"; name it, tok.with_(roles={{{role[1]!r}: token}}), or pass {role[1]}_token=..."
            raise self._failure(error, told) from error
        except Exception as error:  # a template may raise anything
            told = f"fails with this conversation: {type(error).__name__}: {error}"
            raise self._failure(error, told) from error
        if context._skipped and (context._first or _written_of(first, found[: context._before])):
            return self.pieces(variables)
        return found

    def _failure(self, error: BaseException, told: str) -> TemplateInputError:
        """Return an error that names the line of the template where it was raised."""
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_globals is self._template.root_render_func.__globals__:
                line = self._template.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        where = "" if line is None else f", line {line},"
        stopped = isinstance(error, LimitError | RecursionError)
        return TemplateInputError(f"the chat template{where} {told:.{MOST_TOLD}}", line, stopped=stopped)


def _written_of(first: int, pieces: Iterable[Written]) -> bool:
    """Whether a piece is of a message from the first on."""
    return any(origin.message >= first for piece in pieces for _, origin in owned_text.owner_runs(piece.text))


template_of = lru_cache(MOST_KEPT)(ChatTemplate)


@lru_cache(1)
def environment() -> Environment:
    """Return the environment of all templates."""
    return Environment()


# ---------------------------------------------------------------------------------------------------------------------
# The code that is made for a template.


class _Optimizer(Optimizer):
    """Evaluates constant expressions, but for large ones: these are made when the template runs."""

    def generic_visit(self, node: nodes.Node, *args: Any, **options: Any) -> nodes.Node:
        found = super().generic_visit(node, *args, **options)
        return found if not isinstance(found, nodes.Const) or limits.weigh(found.value) <= LARGE_STRING else node


_BOUNDED_NODES = (nodes.Const, nodes.TemplateData, nodes.Test, nodes.Not, nodes.Compare)  # their values are small


def _is_bounded(node: nodes.Node) -> bool:
    """Whether what a node is compared with need not be weighed: the node's value is small, and known to be so."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return all(map(_is_bounded, node.items))
    return isinstance(node, _BOUNDED_NODES) or (isinstance(node, nodes.Filter) and node.name == "length")


class _Code(CodeGenerator):
    """Writes each literal as a name, which an assignment at the end of the module gives its value.

    What an operation may take long for is weighed before it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.optimizer = _Optimizer(self.environment)
        self._literals: dict[str, str] = {}

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:
        super().visit_Template(node, frame)
        for name in ("add", "at", "inside", "item", "light", "literal", "part", "rest", "sliced"):
            self.writeline(f"_s_{name} = environment._s_{name}")
        for name in ("LoopContext", "escape", "markup_join", "str", "str_join"):
            self.writeline(f"{name} = environment._s_{name.lower()}")
        for text, name in self._literals.items():
            self.writeline(f"{name} = _s_literal({text})")

    def _source(self, value: object) -> str:
        """Return the code of a constant."""
        if isinstance(value, Markup):
            return repr(value)
        if isinstance(value, str):
            return self._literals.setdefault(repr(str(value)), f"_s_{len(self._literals)}")
        if isinstance(value, list):
            return f"[{', '.join(map(self._source, value))}]"
        if isinstance(value, tuple):
            return f"({''.join(f'{self._source(each)}, ' for each in value)})"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{self._source(key)}: {self._source(each)}' for key, each in value.items())}}}"
        return str(value) if isinstance(value, float) else repr(value)

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return self._source("".join(map(str, group)))

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        self.write(self._source(node.as_const(frame.eval_ctx)))

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:
        try:
            self.write(self._source(node.as_const(frame.eval_ctx)))
        except nodes.Impossible:
            super().visit_TemplateData(node, frame)

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        text = super()._output_child_to_const(node, frame, finalize)
        if len(text) > LARGE_STRING and not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return text

    @optimizeconst
    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        first, *others = node.ops
        if others:
            weighed: list[Any] = [node, *node.ops]
        elif first.op not in ("in", "notin"):  # no more of an operand is reached than the other has
            weighed = [] if _is_bounded(node.expr) or _is_bounded(first.expr) else [node]
        elif _is_bounded(first.expr):
            weighed = []
        else:
            self.write("(not " if first.op == "notin" else "(")
            self.visit(_call("_s_inside", node.expr, first.expr), frame)
            self.write(")")
            return
        for each in weighed:
            if not _is_bounded(each.expr):
                each.expr = _call("_s_light", each.expr)
        super().visit_Compare(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        for pair in node.items:
            if not isinstance(pair.key, nodes.Const):
                pair.key = _call("_s_light", pair.key)
        super().visit_Dict(node, frame)

    @optimizeconst
    def visit_Add(self, node: nodes.BinExpr, frame: Frame) -> None:
        self.write("_s_add(")
        self.visit(node.left, frame)
        self.write(", ")
        self.visit(node.right, frame)
        self.write(")")

    @optimizeconst
    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            self.write("_s_item(")
            self.visit(node.node, frame)
            self.write(f", {str(node.arg.value)!r})")  # a plain string is looked up faster
            return
        is_slice = isinstance(node.arg, nodes.Slice)
        if is_slice:
            node.node = _call("_s_sliced", node.node)
        ends = [node.arg.start, node.arg.stop, node.arg.step] if isinstance(node.arg, nodes.Slice) else [node.arg]
        if all(end is None or isinstance(end, nodes.Const) for end in ends):
            super().visit_Getitem(node, frame)
            return
        self.write("_s_part(environment.getitem, ")
        self.visit(node.node, frame)
        self.write(", slice(" if is_slice else ", (")
        for end in ends:
            self.visit(end or nodes.Const(None), frame)
            self.write(", " if is_slice else "")
        self.write("))")

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        if not isinstance(node.node, nodes.EnvironmentAttribute):
            super().visit_Call(node, frame, forward_caller=forward_caller)
        elif node.node.name in ("_s_enter", "_s_leave"):
            self.write("context._turns." + ("append(context._turns[-1])" if node.node.name == "_s_enter" else "pop()"))
        else:
            self.write(f"{node.node.name}(" + ("context, " if node.node.name in ("_s_at", "_s_rest") else ""))
            for arg in node.args:
                self.visit(arg, frame)
                self.write(", ")
            self.write(")")


def _call(name: str, *args: nodes.Expr) -> nodes.Call:
    """Return a call that no template can write: names of the environment cannot be called there."""
    return nodes.Call(nodes.EnvironmentAttribute(name), [*args], [], None, None)


_STEP = nodes.ExprStmt(_call("_s_at", nodes.Const(None), nodes.Const(False)))


def _tell(name: str) -> nodes.ExprStmt:
    """Return a statement that tells the value of a loop, which may be a message."""
    return nodes.ExprStmt(_call("_s_at", nodes.Name(name, "load"), nodes.Const(True)))


def _told(node: nodes.Node) -> nodes.Name | None:
    """Return the name whose value a statement tells."""
    call = node.node if isinstance(node, nodes.ExprStmt) else None
    if isinstance(call, nodes.Call) and isinstance(call.node, nodes.EnvironmentAttribute) and call.node.name == "_s_at":
        name = call.args[0]
        return name if isinstance(name, nodes.Name) else None
    return None


class _Turns:
    """Lets the loops of a template tell at which message they are, and leave out passes whose text nobody needs."""

    def __init__(self, tree: nodes.Template) -> None:
        self._effects = Effects(tree)
        self._change(tree, None, outside=self._effects.known)

    def _change(self, node: nodes.Node, index: str | None, *, outside: bool) -> None:
        """index: the name of the number in a loop over numbers. outside: outside of all loops, macros and blocks."""
        for field in ("body", "elif_", "else_"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                setattr(node, field, [*self._statements(body, index, outside)])

    def _statements(self, body: list[nodes.Node], index: str | None, outside: bool) -> Iterator[nodes.Node]:
        for node in body:
            if isinstance(node, nodes.For):
                yield nodes.ExprStmt(_call("_s_enter"))
                if node.test:  # it may leave out all passes, which are steps
                    yield _STEP
                yield self._loop(node, index, outside)
                yield nodes.ExprStmt(_call("_s_leave"))
                continue
            self._change(node, index, outside=outside and isinstance(node, nodes.If))
            if isinstance(node, nodes.Macro | nodes.CallBlock | nodes.Block):  # for the limit of steps
                node.body = [_STEP, *node.body]
            yield node
            if index and isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
                arg = getattr(node.node, "arg", None)
                if isinstance(node.node, nodes.Getitem) and isinstance(arg, nodes.Name) and arg.name == index:
                    yield _tell(node.target.name)

    def _loop(self, node: nodes.For, index: str | None, outside: bool) -> nodes.For:
        """Return a loop that tells its turns; in one that writes outside of others, passes can be left out (H6)."""
        if isinstance(node.target, nodes.Name):
            names = [node.target.name]
            by_number = isinstance(node.iter, nodes.Call) and getattr(node.iter.node, "name", "") == "range"
            index = node.target.name if by_number else index
        else:
            names = [each.name for each in node.target.find_all(nodes.Name)]
        writes = node.find(nodes.Output) is not None
        self._change(node, index, outside=False)
        may_skip = writes and outside and not node.else_ and not node.recursive
        if may_skip and not node.test and not self._effects.left(node.body):
            node.iter = _call("_s_rest", node.iter)  # type: ignore[arg-type]
        node.body = [*map(_tell, names), *node.body]
        for at, each in enumerate(node.body):
            if (name := _told(each)) is None:
                continue
            told = _call("_s_at", name, nodes.Const(writes))
            if may_skip:
                rest = self._effects.left(node.body[at + 1 :])
                node.body[at] = nodes.If(told, [*rest, nodes.Continue()], [], [])
            else:
                node.body[at] = nodes.ExprStmt(told)
        return node


def _written(node: nodes.Node) -> Iterator[str]:
    """Yield the literals below a node that may be written."""
    if isinstance(node, nodes.TemplateData):
        yield node.data
    elif isinstance(node, nodes.Const):
        yield from (node.value,) if isinstance(node.value, str) else ()
    elif isinstance(node, nodes.Call | nodes.Filter):
        name = node.node.attr if isinstance(node.node, nodes.Getattr) else getattr(node, "name", "")
        yield from () if node.node is None else _written(node.node)
        own = node.node.name if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) else None
        if name == "replace":
            yield from (text for arg in node.args[1:] for text in _written(arg))
        elif name in _WRITING or own not in (None, "raise_exception"):  # a macro writes its arguments
            yield from (text for arg in (*node.args, *node.kwargs) for text in _written(arg))
    elif not isinstance(node, nodes.Compare | nodes.Test):
        skipped = {nodes.Getitem: "arg", nodes.CondExpr: "test", nodes.If: "test"}.get(type(node))
        for child in node.iter_child_nodes(exclude=None if skipped is None else (skipped,)):
            yield from _written(child)


class _Context(Context):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._turns = [-1]
        self._steps = MOST_STEPS
        self._look = MOST_STEPS - LOOK  # the steps at which the clock is looked at
        self._first = self._skipped = 0  # the passes of messages before `_first` need not write; how many did not
        self._written: list[Written] = []
        self._before = 0  # how much was written when the first pass of `_first` or later began


def _at(context: _Context, value: object, writes: bool) -> bool:
    """Count a step; if the value of a loop is a message, its turn begins. Return whether the pass need not write."""
    context._steps -= CALL if value is None else 1
    if context._steps < context._look:
        if context._steps < 0:
            raise LimitError(f"it takes more than {MOST_STEPS:,} steps")
        context._look = context._steps - LOOK
        limits.look()
    turn = owned_text.turn_of(value)
    if turn < 0:
        return False
    context._turns[-1] = turn
    if not (context._first and writes):
        return False
    if turn < context._first:
        context._skipped += 1
        return True
    context._first, context._before = 0, len(context._written)
    return False


class _Rest:
    """The items of a loop from one on, for a loop whose earlier passes need not write."""

    def __init__(self, items: list[Any], start: int) -> None:
        self.items, self.start = items, start

    def __iter__(self) -> Iterator[Any]:
        return islice(self.items, self.start, None)

    def __len__(self) -> int:
        return len(self.items)


class _Loop(LoopContext):
    """What `loop` is; after a `_Rest`, as if the loop had run from its beginning."""

    def __init__(self, iterable: Any, *options: Any) -> None:
        items = (
            iterable
            if type(iterable) is list or not isinstance(iterable, Iterator)
            else limits.counted_items(iterable, deep=False)
        )
        super().__init__(items, *options)
        if type(iterable) is _Rest:
            self.index0, self._current = iterable.start - 1, iterable.items[iterable.start - 1]


def _rest(context: _Context, items: Any) -> Any:
    """Return the items of a loop, without messages before the first that needs text."""
    first = context._first
    if not first or type(items) is not list or not items:
        return items
    begin = owned_text.turn_of(items[0])
    if not 0 <= begin < first or items[: first - begin] != context.parent["messages"][begin:first]:
        return items
    context._skipped += first - begin
    return _Rest(items, first - begin)


# ---------------------------------------------------------------------------------------------------------------------
# What a template may use: as in transformers.


class _Generation(Extension):
    """The block `{% generation %}`, around what the assistant writes."""

    tags = {"generation"}  # noqa: RUF012  # as the base class has it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    @staticmethod
    def _marked(caller: Macro) -> OwnedText:
        return owned_text.marked(caller())


class _Dict:
    """The function `dict` of templates: not the class, which has methods."""

    def __call__(self, *args: Any, **entries: Any) -> dict[Any, Any]:
        return dict(*args, **entries)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class _Namespace(Namespace):
    """A namespace without names that begin with an underscore."""

    def __init__(*args: Any, **entries: Any) -> None:
        own, *rest = args
        found = dict(*rest, **entries)
        for name in found:
            _check_name(name)
        Namespace.__init__(own, found)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        object.__getattribute__(self, "_Namespace__attrs")[name] = value


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"names in a namespace must not begin with an underscore: {name!r:.60}")


def _raise_exception(message: object = "") -> None:
    raise TemplateError(str(message))


def _strftime_now(format: str) -> str:
    limits.check_format(format, " " * NODE)  # as a name of a month, or a date, may be
    return owned_text.made(datetime.now().strftime(format), Owner(OUTSIDE, "strftime_now", False))


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    elements = limits.weigh(value, indent, separators) // NODE + 1
    encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    width = limits.check_width(indent) if type(indent) is int else len(indent or "")
    if is_light(separators) and elements * elements * width <= MOST_TEXT:  # at most as deep as there are elements
        return owned_text.owned(encoder.encode(value), value)
    return owned_text.owned("".join(limits.counted_items(encoder.iterencode(value))), value)


# ---------------------------------------------------------------------------------------------------------------------
# Filters, tests and calls within limits.

_OWNED = frozenset(  # filters whose text has the only owner among their arguments, and is not trusted
    (
        *("title", "indent", "center", "truncate", "wordwrap", "escape", "e", "forceescape", "urlencode", "xmlattr"),
        *("striptags", "urlize", "pprint", "filesizeformat"),
    )
)
_CONSTANT = frozenset({"default", "d", "length", "count", "first", "last"})  # filters that take no time
_QUICK = frozenset(  # filters and tests that look at no element, or at one at a time when it is asked for
    (
        *("items", "list", "reverse", "batch", "slice", "map", "select", "selectattr", "reject", "rejectattr"),
        *(
            "defined",
            "undefined",
            "none",
            "boolean",
            "false",
            "true",
            "integer",
            "float",
            "string",
            "mapping",
            "number",
        ),
        *("sequence", "iterable", "callable", "sameas", "escaped"),
    )
)
_COMPARING = (
    "==",
    "eq",
    "equalto",
    "!=",
    "ne",
    ">",
    "gt",
    "greaterthan",
    ">=",
    "ge",
    "<",
    "lt",
    "lessthan",
    "<=",
    "le",
)
_SCOPES = frozenset({"_loop_vars", "_block_vars"})  # which compiled code gives to what it calls
_KEYS = frozenset({int, str, OwnedText})  # types of keys that need not be weighed
_WIDE = frozenset({"batch", "slice", "round", "center", "indent", "wordwrap"})  # by their numbers
_REPEATING = frozenset({"indent", "wordwrap", "urlize"})  # put a text in for each line or word
_ATTRIBUTE = {"selectattr": 1, "rejectattr": 1, "groupby": 1, "sum": 1, "unique": 2, "min": 2, "max": 2, "join": 2}
_ATTRIBUTE |= {"sort": 3}  # where it is among the arguments
_SLOW = {"pprint": 256, "urlize": 64, "wordwrap": 16, "title": 16, "striptags": 16, "translate": 16, "wordcount": 8}


def _ready(name: str, args: Sequence[Any], given: Collection[Any], attribute: object = None) -> list[Any]:
    """Return the arguments of a filter, test or method, weighed; LimitError for what would take or make too much.

    Iterators are weighed as they are read. given: the values of named arguments. attribute: that named so.
    """
    deep = name not in _QUICK
    found = [limits.counted_items(value, deep=deep) if isinstance(value, Iterator) else value for value in args]
    text, *others = args
    attribute = args[_ATTRIBUTE[name]] if len(args) > _ATTRIBUTE.get(name, 99) else attribute
    if isinstance(attribute, str) and len(attribute) > LARGE_STRING:
        raise LimitError(f"an attribute has {len(attribute):,} characters, more than {LARGE_STRING:,}")
    others += given
    if name in _WIDE:
        for value in others:
            if type(value) is int:
                limits.check_width(value)
    if not deep:
        limits.sliced(text)
        return found
    weight = limits.weigh(*args, *given)
    if name in _SLOW:
        limits.limit(weight * _SLOW[name])
        limits.spend(weight * _SLOW[name])
    if name in _REPEATING:
        each = sum(value if isinstance(value, int) else len(value) for value in others if isinstance(value, str | int))
        limits.limit(each * (text.count("\n") + 1 if isinstance(text, str) and name == "indent" else weight))
    if isinstance(text, str):
        limits.check_method(text, name, others[0] if others else None)
    return found


def _heavy(args: Iterable[Any]) -> bool:
    return any(not is_light(value) for value in args)


def _compared(plain: Any) -> Callable[[Any, Any], Any]:
    """Return a test that compares two values: no more of one is reached than the other has."""

    @wraps(plain)
    def compared(value: Any, other: Any) -> Any:
        if (type(other) is not OwnedText or len(other) > LARGE_STRING) and not (is_light(other) or is_light(value)):
            limits.weigh(value, other)
        return plain(value, other)

    return compared


def _bounded(name: str, plain: Any) -> Callable[..., Any]:
    """Return a filter or test that is given what is weighed, and whose text has an owner."""
    skipped = int(hasattr(plain, "jinja_pass_arg"))
    always, quick = name in _WIDE or name in _REPEATING, name in _QUICK and name not in (*_WIDE, *_ATTRIBUTE)
    is_owned = name in _OWNED

    @wraps(plain)
    def filtered(*args: Any, **options: Any) -> Any:
        value = args[skipped]
        if quick and type(value) is list and not options:
            limits.spend(len(value))
        elif always or options or not is_light(value) or (len(args) > skipped + 1 and _heavy(args[skipped + 1 :])):
            args = (*args[:skipped], *_ready(name, args[skipped:], options.values(), options.get("attribute")))
        found = plain(*args, **options)
        if type(found) is int:
            limits.check_bits(found.bit_length())
        if not is_owned or not isinstance(found, str):
            return found
        text = owned_text.owned(str.__str__(found), *args[skipped:], *options.values())
        return owned_text.mark_safe(text) if isinstance(found, Markup) else text

    return filtered


@wraps(DEFAULT_FILTERS["join"])
def _join(eval_ctx: nodes.EvalContext, value: Any, d: str = "", attribute: Any = None) -> Any:
    items, between = [*value], OwnedText(printed(d))
    limits.limit(len(items) * len(between))
    return DEFAULT_FILTERS["join"](eval_ctx, items, between, attribute)


@wraps(DEFAULT_FILTERS["replace"])
def _replace(eval_ctx: nodes.EvalContext, value: Any, *args: Any, **options: Any) -> str:
    text = value if isinstance(value, OwnedText | Markup) else OwnedText(printed(value))
    found: str = DEFAULT_FILTERS["replace"](eval_ctx, text, *args, **options)
    return found


@wraps(DEFAULT_FILTERS["sum"])
def _sum(env: Environment, iterable: Any, attribute: Any = None, start: Any = 0) -> Any:
    if isinstance(start, list | tuple):
        items = list(iterable)
        plain = [env.getattr(item, attribute) for item in items] if isinstance(attribute, str) else items
        size = len(plain) * sum(len(item) for item in plain if isinstance(item, list | tuple))  # each sum is a copy
        limits.limit(size)
        limits.spend(size)
        iterable = items
    return DEFAULT_FILTERS["sum"](env, iterable, attribute, start)


def _format(value: object, *args: Any, **entries: Any) -> str:
    if args and entries:
        raise jinja2.exceptions.FilterArgumentError("can't handle positional and keyword arguments at the same time")
    found: str = OwnedText(printed(value)) % (entries or args)
    return found


class Environment(ImmutableSandboxedEnvironment):
    """The sandbox of transformers, with traced strings and with limits."""

    code_generator_class = _Code
    context_class = _Context
    intercepted_binops = frozenset(("*", "**", "%", "//", "-"))
    concat = staticmethod(lambda pieces: owned_text.join([*map(printed, pieces)]))
    _s_add, _s_at, _s_literal = staticmethod(owned_text.add), staticmethod(_at), staticmethod(owned_text.literal)
    _s_rest, _s_loopcontext, _s_str, _s_str_join = staticmethod(_rest), _Loop, staticmethod(printed), concat
    _s_light, _s_inside = staticmethod(limits.light), staticmethod(limits.searched)
    _s_sliced, _s_part = staticmethod(limits.sliced), staticmethod(owned_text.part_of)
    _s_escape = staticmethod(lambda value: escape(limits.light(value)))
    _s_markup_join = staticmethod(lambda pieces: markup_join([*map(limits.light, pieces)]))

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
        plain: dict[str, Any] = {**DEFAULT_FILTERS, "join": _join, "sum": _sum, "replace": _replace}
        self.filters |= {name: _bounded(name, each) for name, each in plain.items() if name not in _CONSTANT}
        self.filters |= {"tojson": _tojson, "format": _format, "safe": owned_text.mark_safe}
        self.filters["string"] = lambda value: value if isinstance(value, str) else OwnedText(printed(value))
        self.tests |= {name: _bounded(name, each) for name, each in DEFAULT_TESTS.items() if name not in _QUICK}
        self.tests |= {name: _compared(DEFAULT_TESTS[name]) for name in _COMPARING}
        self.tests["in"] = limits.searched
        del self.globals["lipsum"]
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
        self.globals |= {"dict": _Dict(), "namespace": _Namespace}
        self.binop_table |= {"*": owned_text.times, "**": owned_text.power, "%": owned_text.modulo}
        self.binop_table |= {"//": owned_text.quotient, "-": owned_text.minus}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        _Turns(tree)
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute, or the entry of a dict; those of messages and namespaces take a third of the time so."""
        kind = type(obj)
        if kind is Record and attribute not in _DICT_NAMES and attribute[:1] != "_":
            try:
                return obj[attribute]
            except KeyError:
                return self.undefined(obj=obj, name=attribute)
        if kind is _Namespace and attribute[:1] != "_":
            entries = object.__getattribute__(obj, "_Namespace__attrs")
            if attribute in entries:
                return entries[attribute]
        if kind is str:
            obj, kind = OwnedText(obj), OwnedText
        if (kind is OwnedText and attribute in _TEXT_METHODS) or (kind is _Loop and attribute in _LOOP_VALUES):
            return getattr(obj, attribute)
        if kind is dict and attribute == "get":
            return lambda key, *rest: owned_text.looked_up(obj.get(key, *rest), key)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an entry or attribute."""
        if type(argument) not in _KEYS:
            limits.light(argument)
        found = super().getitem(OwnedText(obj) if type(obj) is str else obj, argument)
        return found if type(argument) is not OwnedText else owned_text.looked_up(found, argument)

    def _s_item(self, obj: Any, key: str) -> Any:
        """Return the entry of a name that the template spells, or the attribute."""
        kind = type(obj)
        if (kind is Record or kind is dict) and key in obj:
            return obj[key]
        return self.getitem(obj, key)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read an attribute."""
        return attr not in _UNSAFE and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, called: Any, /, *args: Any, **options: Any) -> Any:
        """Call what a template calls, with arguments that are weighed; a macro or loop only gives them names."""
        if type(called) is Macro:
            return context.call(called, *args, **options)
        if type(called) is not _Loop and (args or called is not _Namespace):
            own, given = getattr(called, "__self__", None), list[Any]()
            if not options.keys() <= _SCOPES:
                given = [value for name, value in options.items() if name not in _SCOPES]
            if not is_light(own) or (args and _heavy(args)) or (given and _heavy(given)):
                own = None if isinstance(own, dict) else own  # which is looked up in, or goes through its entries
                args = (*_ready(called.__name__ if own else "", (own, *args), given)[1:],)
        found = super().call(context, called, *args, **options)
        if type(found) is int:
            limits.check_bits(found.bit_length())
        return found

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return `str.format` for the sandbox."""
        plain = super().wrap_str_format(value)
        if plain is None:
            return None
        own = value.__self__

        @wraps(plain)
        def formatted(*args: Any, **entries: Any) -> str:
            given = [*args, *entries.values()]
            limits.check_format(own, *given)
            text = plain(*args, **entries)
            found = owned_text.owned(str.__str__(text), own, given)
            return owned_text.mark_safe(found) if isinstance(text, Markup) else found

        return formatted
