"""Drawings as SVG: the facts around an entity, and probabilities.

They have no style of their own, as the page's policy allows none: the style sheet gives them colours, by day and by night.
What can be opened is a link. Beside each drawing the page has a table that says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from relatum.formatting import percent, visible
from relatum.report.charts import element
from relatum.resources.references import EntityRef, FactRef
from relatum.serving.neighbourhood import Hub, Layout, Node, Spoke, arrange_narrow, arrange_wide

MOST_FACTS = 18  # that are drawn around an entity: more cannot be read
_MOST_PREDICTED, _LEAST = 6, 0.05  # predicted ones, and the probability that all but the likeliest of them have
# Characters of a name that are drawn.
_LONGEST = {"wide": 18, "narrow": 26, "role": 14, "relation": 22, "middle": 18, "label": 300}

Address = Callable[[str], str]


def shown_name(entity: EntityRef) -> str:
    """Return what people call an entity: its label, or else its name without the prefix of its type."""
    return entity.label or entity.name.removeprefix(f"{entity.type}:" if entity.type else "") or entity.name


def clipped(text: str, longest: int) -> str:
    """Return a text of at most so many characters, with an ellipsis where it was cut, and nothing that acts in it."""
    shown = visible(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1].rstrip()}…"


def neighbourhood(centre: EntityRef, facts: Sequence[FactRef], entity: Address, fact: Callable[[FactRef], str]) -> Markup:
    """Return the facts around an entity, drawn twice: for a wide and for a narrow screen, of which the page shows one.

    `entity` and `fact` give the address of a page.
    """
    chosen = drawn_facts(facts)
    known = sum(one.known for one in chosen)
    name = clipped(shown_name(centre), _LONGEST["label"])
    title = f"{name}: {known} known and {len(chosen) - known} predicted facts around it"
    layouts = [arrange_wide(centre, chosen), arrange_narrow(centre, chosen)]
    return Markup("\n").join(_neighbourhood(layout, title, entity, fact) for layout in layouts)


def drawn_facts(facts: Sequence[FactRef]) -> list[FactRef]:
    """Return the facts that are drawn: predicted ones that are likely enough, and known ones as far as there is room."""
    new = sorted((one for one in facts if not one.known), key=lambda one: -(one.probability or 0.0))[:_MOST_PREDICTED]
    likely = [one for index, one in enumerate(new) if index == 0 or (one.probability or 0.0) >= _LEAST]
    return [*[one for one in facts if one.known][: MOST_FACTS - len(likely)], *likely]


def probability_bar(probability: float | None, known: bool) -> Markup:
    """Return a probability as a bar that is filled from the left; the number stands beside it."""
    share = 0.0 if probability is None else min(max(probability, 0.0), 1.0)
    back = element("rect", x=0, y=0, width=100, height=8, rx=4, class_="track")
    width = max(100 * share, 2.5) if share else 0
    front = element("rect", x=0, y=0, width=width, height=8, rx=min(4, width / 2), class_="known" if known else "predicted")
    return element(
        "svg",
        back,
        front if width else None,
        class_="probability",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        width=100,
        height=8,
        aria_hidden="true",
    )


def _neighbourhood(layout: Layout, title: str, entity: Address, fact: Callable[[FactRef], str]) -> Markup:
    parts = [_spoke(layout, spoke) for spoke in layout.spokes]
    parts += _roles(layout)
    parts += [_hub(layout, hub, fact(hub.fact)) for hub in layout.hubs]
    parts += [_node(layout, node, entity(node.entity.name)) for node in layout.nodes]
    parts.append(_middle(layout))
    return _drawing(f"neighbourhood {'narrow' if layout.narrow else 'wide'}", title, layout.width, layout.height, parts)


def _spoke(layout: Layout, spoke: Spoke) -> Markup:
    hub, end, state = spoke.hub, spoke.end, "known" if spoke.hub.fact.known else "predicted"
    if layout.narrow:
        if end is None:
            x, y = layout.middle.x, layout.middle.y
            path = f"M{x:.1f},{y:.1f}V{hub.y - 14:.1f}Q{x:.1f},{hub.y:.1f} {x + 14:.1f},{hub.y:.1f}H{hub.x:.1f}"
        else:
            path = (
                f"M{hub.x:.1f},{hub.y:.1f}V{end.y - 10:.1f}Q{hub.x:.1f},{end.y:.1f} {hub.x + 10:.1f},{end.y:.1f}H{end.x:.1f}"
            )
        return element("path", d=path, class_=f"spoke {state}")
    x, y = (layout.middle.x, layout.middle.y) if end is None else (end.x, end.y)
    bend = (x + hub.x) / 2
    path = f"M{x:.1f},{y:.1f}C{bend:.1f},{y:.1f} {bend:.1f},{hub.y:.1f} {hub.x:.1f},{hub.y:.1f}"
    return element("path", d=path, class_=f"spoke {state}")


def _roles(layout: Layout) -> list[Markup]:
    """Return the roles on spokes: of the middle at its hubs, of others at their nodes.

    Where facts give a node different roles, these stand at the facts' hubs instead.
    """
    ends = dict[int, list[Spoke]]()
    for spoke in layout.spokes:
        ends.setdefault(id(spoke.end), []).append(spoke)
    found = list[Markup]()
    for group in ends.values():
        node, hubs = group[0].end, {id(spoke.hub) for spoke in group}
        if node is None:
            if not layout.narrow:  # where they stand beside the relations
                found += [_inner_role(layout, spoke) for spoke in group]
        elif len(hubs) == 1 or len({spoke.role for spoke in group}) == 1:
            text = ", ".join(dict.fromkeys(spoke.role for spoke in group))
            found.append(_role(text, node.x - 9 * node.side, node.y - 4, -node.side))
        else:
            # On that side of the spoke from which it bends away.
            found += [
                _role(
                    spoke.role, spoke.hub.x + 10 * node.side, spoke.hub.y + (-5 if node.y >= spoke.hub.y else 13), node.side
                )
                for spoke in group
            ]
    return found


def _inner_role(layout: Layout, spoke: Spoke) -> Markup:
    hub = spoke.hub
    return _role(spoke.role, hub.x - 10 * hub.side, hub.y + (-5 if hub.y > layout.middle.y else 13), -hub.side)


def _role(text: str, x: float, y: float, way: int) -> Markup:
    """Return the text of a role that begins at a point and goes right (1) or left (-1)."""
    anchor = "start" if way > 0 else "end"
    return element("text", clipped(text, _LONGEST["role"]), x=x, y=y, text_anchor=anchor, class_="role")


def _hub(layout: Layout, hub: Hub, address: str) -> Markup:
    fact, state = hub.fact, "known" if hub.fact.known else "predicted"
    sure = "" if fact.known or fact.probability is None else percent(fact.probability, 0)
    dot = element("rect", x=hub.x - 4.5, y=hub.y - 4.5, width=9, height=9, rx=2, class_=f"hub {state}")
    relation = _relation(fact.relation)
    if layout.narrow:
        roles = [spoke.role for spoke in layout.spokes if spoke.hub is hub and spoke.end is None]
        tail = element("tspan", f"  {clipped(', '.join(roles), _LONGEST['role'])}", class_="role")
        sure_part = element("tspan", f"  {sure}", class_="sure") if sure else None
        text = element("text", relation, tail, sure_part, x=hub.x + 10, y=hub.y + 4, class_="relation")
        return _link(address, f"{sure or 'known'}: {fact.text}", dot, text)
    # The name grows towards the middle, on that side of the line from which the spoke bends away.
    anchor, below = "end" if hub.side > 0 else "start", hub.y > layout.middle.y
    y = hub.y + (16 if below else -9)
    text = element("text", relation, x=hub.x + 6 * hub.side, y=y, text_anchor=anchor, class_="relation")
    outward = "start" if hub.side > 0 else "end"
    beside = (
        element("text", sure, x=hub.x + 9 * hub.side, y=hub.y + 15, text_anchor=outward, class_="sure") if sure else None
    )
    return _link(address, f"{sure or 'known'}: {fact.text}", dot, text, beside)


def _node(layout: Layout, node: Node, address: str) -> Markup:
    dot = element("circle", cx=node.x, cy=node.y, r=3.6, class_="node")
    name = shown_name(node.entity)
    short = clipped(name, _LONGEST["narrow" if layout.narrow else "wide"])
    anchor = "start" if node.side > 0 else "end"
    text = element("text", short, x=node.x + 9 * node.side, y=node.y + 4, text_anchor=anchor, class_="entity")
    return _link(address, name, dot, text)


def _relation(name: str) -> str:
    """Return the name of a relation as it is drawn: of a long one with dots, the last parts, which tell most."""
    whole, longest = visible(name), _LONGEST["relation"]
    shown = whole
    while len(shown) > longest - (shown != whole) and "." in shown:
        shown = shown.partition(".")[2]
    return clipped(shown if shown == whole else f"…{shown}", longest)


def _middle(layout: Layout) -> Markup:
    node = layout.middle
    text = clipped(shown_name(node.entity), 34 if layout.narrow else _LONGEST["middle"])
    width = 7.6 * len(text) + 26
    x = 4.0 if layout.narrow else node.x - width / 2
    box = element("rect", x=x, y=node.y - 16, width=width, height=32, rx=16, class_="middle")
    label = element("text", text, x=x + width / 2, y=node.y + 4.5, text_anchor="middle", class_="middle")
    return element("g", box, label)


def _link(address: str, label: str, *parts: Markup | None) -> Markup:
    short = clipped(label, _LONGEST["label"])
    return element("a", element("title", short), *parts, href=address, aria_label=short)


def _drawing(kind: str, title: str, width: float, height: float, parts: Sequence[Markup]) -> Markup:
    size = f"0 0 {width:g} {height:g}"
    return element("svg", *parts, class_=kind, viewBox=size, width=width, height=height, role="group", aria_label=title)
