"""What is left of a pass of a loop whose text nobody needs: that on which later text depends (H6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jinja2 import nodes

from subwords.chat.limits import spend

STEP = 1 << 13  # characters that a look at a node of the source counts as: blocks in blocks are gone through again
_LAZY = frozenset(  # filters that return iterators, which a pass would use up
    ("map", "select", "selectattr", "reject", "rejectattr", "batch", "slice", "unique", "reverse", "items")
)
_KEPT = (nodes.Assign, nodes.AssignBlock, nodes.Continue, nodes.Break)
_APART = (nodes.Block, nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
_STATEFUL = frozenset({"joiner", "cycler"})


class Effects:
    """What the passes of a template's loops change besides their text: namespaces, and where the loop ends."""

    def __init__(self, tree: nodes.Template) -> None:
        macros = [*tree.find_all(nodes.Macro)]
        self._changing: set[str] = set()  # macros that change namespaces
        while found := {each.name for each in macros if each.name not in self._changing and self._changed(each.body)}:
            self._changing |= found
        self.known: bool = not any(self._unknown(tree))

    def _unknown(self, tree: nodes.Template) -> Iterator[bool]:
        """Yield whether there is state besides namespaces, or a call that may change one and cannot be seen."""
        yield any(isinstance(each, _APART) for each in tree.find_all(nodes.Stmt))
        seen = sum(map(self._is_changing, tree.find_all(nodes.Call)))
        yield seen < sum(each.name in self._changing and each.ctx == "load" for each in tree.find_all(nodes.Name))
        yield any(each.name in _STATEFUL for each in tree.find_all(nodes.Name))
        yield any(each.attr == "changed" for each in tree.find_all(nodes.Getattr))
        used = {id(each.iter) for each in tree.find_all(nodes.For)} | {
            id(each.node) for each in tree.find_all(nodes.Filter)
        }
        yield any(each.name in _LAZY and id(each) not in used for each in tree.find_all(nodes.Filter))

    def _is_changing(self, call: nodes.Call) -> bool:
        return isinstance(call.node, nodes.Name) and call.node.name in self._changing

    def _changes(self, node: nodes.Node, own: frozenset[str] = frozenset()) -> bool:
        """Whether a statement or expression changes a namespace that is not `own`."""
        spend(STEP)
        if isinstance(node, nodes.NSRef):
            return node.name not in own
        if isinstance(node, nodes.Call) and self._is_changing(node):
            return True
        return any(self._changes(each, own) for each in node.iter_child_nodes())

    def _changed(self, body: Sequence[nodes.Node]) -> bool:
        own = _own(body)
        return any(self._changes(each, own) for each in body)

    def left(self, body: Sequence[nodes.Node]) -> list[nodes.Node]:
        """Return the statements of a pass that change what comes after it; none if it only writes text."""
        own = _own(body)
        if not any(self._changes(each, own) or _breaks(each) for each in body):
            return []
        kept = self._kept(body)
        needed, known = set[str](), -1
        while len(needed) != known:
            known = len(needed)
            needed.update(name for each in kept for name in self._read(each, needed))
        return [*self._without(kept, needed)]

    def _kept(self, body: Sequence[nodes.Node]) -> list[nodes.Node]:
        """Return the statements without those that only write text."""
        found: list[nodes.Node] = []
        for node in body:
            if isinstance(node, nodes.If) and not any(self._changes(each.test) for each in (node, *node.elif_)):
                first, *others = (nodes.If(each.test, self._kept(each.body), [], []) for each in (node, *node.elif_))
                first.elif_, first.else_ = others, self._kept(node.else_)
                found.append(first)
            elif isinstance(node, nodes.Assign | nodes.AssignBlock | nodes.Continue | nodes.Break) or self._changes(
                node
            ):
                found.append(node)
        return found

    def _read(self, node: nodes.Node, needed: set[str]) -> Iterator[str]:
        """Yield the names on which a kept statement depends."""
        if isinstance(node, nodes.If):
            yield from _names(node.test)
            for each in (*node.body, *node.elif_, *node.else_):
                yield from self._read(each, needed)
        elif not self._is_unread(node, needed):
            yield from _names(node)

    def _is_unread(self, node: nodes.Node, needed: set[str]) -> bool:
        """Whether a statement only sets names that nothing needs."""
        if not isinstance(node, nodes.Assign | nodes.AssignBlock) or self._changes(node):
            return False
        return needed.isdisjoint(_names(node.target))

    def _without(self, body: Iterable[nodes.Node], needed: set[str]) -> Iterator[nodes.Node]:
        for node in body:
            if isinstance(node, nodes.If):
                body, others, rest = ([*self._without(part, needed)] for part in (node.body, node.elif_, node.else_))
                yield nodes.If(node.test, body, others, rest)
            elif not self._is_unread(node, needed):
                yield node


def _own(body: Sequence[nodes.Node]) -> frozenset[str]:
    """Return the names that a body sets itself, whatever happens: a namespace of such a name is its own."""
    return frozenset(
        each.target.name for each in body if isinstance(each, nodes.Assign) and isinstance(each.target, nodes.Name)
    )


def _breaks(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Break) or (not isinstance(node, nodes.For) and node.find(nodes.Break) is not None)


def _names(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Name | nodes.NSRef):
        yield node.name
    for each in node.iter_child_nodes():
        yield from _names(each)
