"""Machines as graphs: everything is there, nothing lies on anything else, and rewards keep their sign."""

import itertools
import math
import random
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fastrm import RewardMachine, task
from fastrm.pages.page import machine_graph
from fastrm.plots import draw_machine, drawn_form, lay_out, to_dot, to_mermaid, to_svg
from fastrm.plots.graph import RADIUS, GraphImage

from sample_files import DEADLINE
from sizes import either

MACHINES = {
    **{f"sequence of {n}": RewardMachine.sequence("a-b-c-d"[: 2 * n - 1], kind="numeric") for n in (1, 2, 3, 4)},
    "several edges in a loop": RewardMachine.sequence("a-b-c", kind="numeric-boolean"),
    "any order": task("{a,b,c}", kind="numeric"),
    "avoidance": task("a-b !n", kind="numeric"),
    "avoidance everywhere": task("{a,b,c} !n", kind="numeric"),
    "choice": task("(a-b)|(c-d)", kind="numeric"),
    "repeats": task("3*a-b", kind="potential"),
    "LTLf": RewardMachine.from_ltlf("F(a & X F(b & F c)) & (!d U a) & F e"),
    "there and back": RewardMachine.parse(
        "start u\nsuccess done\nfailure lost\nu -> v when a\nu -> lost when n\nu -> u otherwise\nv -> u when b\n"
        "v -> done when c reward 1\nv -> v otherwise"
    ),
    "clock": RewardMachine.parse(DEADLINE.format(k=4, top=5)),
    "long names": RewardMachine.parse(
        "start nothing_yet\nsuccess brought_home\nnothing_yet -> has_gold_and_wood when a\nnothing_yet -> nothing_yet "
        "otherwise reward -min(d(a), d(b))\nhas_gold_and_wood -> nothing_yet when b & d(c) < 3 | c & d(b) > 4\n"
        "has_gold_and_wood -> brought_home when c reward 100000\nhas_gold_and_wood -> has_gold_and_wood otherwise"
    ),
}
DRAWINGS = {
    f"{name}, {way}": lay_out(machine, way == "downwards")
    for (name, machine), way in itertools.product(MACHINES.items(), ("across", "downwards"))
}


def meet(one, two):
    """Say whether two boxes (left, top, right, bottom) share room."""
    return min(one[2], two[2]) > max(one[0], two[0]) and min(one[3], two[3]) > max(one[1], two[1])


def lies_on(box, points):
    """Say whether a box lies on some of the points."""
    return any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in points)


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_two_states_overlap_and_everything_is_inside(name):
    drawing = DRAWINGS[name]
    for one, two in itertools.combinations(drawing.nodes, 2):
        assert not meet(one.box(2.0), two.box(2.0))
    boxes = [*(node.box() for node in drawing.nodes), *(arrow.text_box() for arrow in drawing.arrows)]
    points = [point for arrow in drawing.arrows for point in arrow.curve.points().tolist()]
    for x, y in [*(box[:2] for box in boxes), *(box[2:] for box in boxes), *points, *drawing.entry]:
        assert 0 < x < drawing.width and 0 < y < drawing.height


@pytest.mark.parametrize("name", DRAWINGS)
def test_arrows_join_the_rims_of_their_states_and_pass_no_other(name):
    drawing = DRAWINGS[name]
    for arrow in drawing.arrows:
        for state, end in ((arrow.source, arrow.curve.begin), (arrow.target, arrow.curve.end)):
            assert min(from_rim(node, end) for node in drawing.nodes if node.name == state) < 1e-6
        for node in drawing.nodes:
            if node.name not in (arrow.source, arrow.target):
                assert not lies_on(node.box(), arrow.curve.points()), (arrow.source, arrow.target, node.name)


def from_rim(node, point):
    """Return the distance of a point from the rim of a pill."""
    (x, y), flat = node.place, node.half_width - node.half_height
    return abs(math.hypot(max(abs(point[0] - x) - flat, 0.0), point[1] - y) - node.half_height)


def is_centred(arrow):
    """Return whether the text of an arrow is right on it, where it stands for the piece of the arrow that it hides."""
    return np.hypot(*(arrow.curve.points() - arrow.text_at).T).min() < 1e-6


@pytest.mark.parametrize("name", DRAWINGS)
def test_texts_are_beside_their_arrows_or_centred_on_them_and_lie_on_nothing_else(name):
    drawing = DRAWINGS[name]
    for arrow in drawing.arrows:
        fine = np.concatenate([np.linspace(*pair, 9) for pair in itertools.pairwise(arrow.curve.points())])
        assert is_centred(arrow) or not lies_on(arrow.text_box(), fine), arrow.text
        assert not any(meet(arrow.text_box(), node.box()) for node in drawing.nodes), arrow.text
    for one, two in itertools.combinations(drawing.arrows, 2):
        assert not meet(one.text_box(), two.text_box()), (one.text, two.text)


@pytest.mark.parametrize("name", MACHINES)
def test_letters_as_a_figure_draws_them_lie_on_nothing(name):
    figure = draw_machine(MACHINES[name])
    figure.set_dpi(72)
    renderer, height = FigureCanvasAgg(figure).get_renderer(), figure.get_figheight() * 72
    drawing, boxes = lay_out(MACHINES[name]), []
    for text in figure.axes[0].texts:
        if text.get_gid() == "label":
            left, bottom, right, top = text.get_window_extent(renderer).extents
            boxes.append((left, height - top, right, height - bottom))
    assert len(boxes) == len(drawing.arrows)
    for box, arrow in zip(boxes, drawing.arrows, strict=True):
        assert is_centred(arrow) or not lies_on(box, arrow.curve.points())
        assert not any(meet(box, node.box()) for node in drawing.nodes)
    assert not any(meet(one, two) for one, two in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("name", DRAWINGS)
def test_edges_that_stay_are_loops_outside_their_state(name):
    drawing = DRAWINGS[name]
    loops = [arrow for arrow in drawing.arrows if arrow.source == arrow.target]
    machine = drawn_form(MACHINES[name.rpartition(",")[0]])
    assert len(loops) == len({edge.source for edge in machine.edges if edge.source == edge.target}) > 0
    for arrow in loops:
        node = next(node for node in drawing.nodes if node.name == arrow.source)
        far = np.abs(arrow.curve.points() - np.array(node.place)).max()
        assert math.dist(arrow.curve.begin, arrow.curve.end) > 8 and far > RADIUS + 20


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_and_edge_is_in_every_form(name):
    machine = MACHINES[name]
    svg = ElementTree.fromstring(to_svg(machine))
    texts = [element.text for element in svg.iter() if element.tag.endswith("text")]
    form = drawn_form(machine)
    for state in (*form.states, *form.success, *form.failure):
        assert state in texts and f'"{state}" [shape' in to_dot(machine)
        assert re.search(rf"^  {state} --> ", to_mermaid(machine), re.M)
    assert sum(" : " in text for text in texts) == len(form.edges)
    assert not any(" / " in text for text in (*texts, to_dot(machine), to_mermaid(machine)))
    pairs = {(edge.source, edge.target) for edge in form.edges}
    assert to_dot(machine).count("->") == len(pairs)
    assert to_mermaid(machine).count("-->") == len(pairs) + 1 + len(machine.success) + len(machine.failure)


def test_mermaid_gets_no_second_colon_and_no_markup():
    machine = RewardMachine.parse("start 0\nsuccess e\n0 -> e when a & d(b) < 3 reward 7\n0 -> 0 otherwise")
    assert "  s_0 --> e : a & d(b) #60; 3 #58; 7\n" in to_mermaid(machine)
    assert all(line.count(":") <= 1 for line in to_mermaid(machine).splitlines())


def test_markup_in_guards_is_escaped():
    machine = RewardMachine.parse("start u\nsuccess e\nu -> e when a & d(b) < 3\nu -> u otherwise")
    assert "&amp;" in to_svg(machine) and "&lt; 3" in to_svg(machine)
    ElementTree.fromstring(to_svg(machine))


def test_a_width_scales_a_machine_with_its_letters():
    machine = MACHINES["sequence of 2"]
    plain, wide = draw_machine(machine), draw_machine(machine, width=10.0)
    ratio = 10.0 / plain.get_figwidth()
    assert wide.get_figwidth() == pytest.approx(10.0)
    assert wide.get_figheight() == pytest.approx(plain.get_figheight() * ratio)
    for one, two in zip(plain.axes[0].texts, wide.axes[0].texts, strict=True):
        assert two.get_fontsize() == pytest.approx(one.get_fontsize() * ratio)
    assert 'width="10in"' in to_svg(machine, width=10.0)


def test_an_image_of_a_machine_fits_into_its_room():
    for machine in MACHINES.values():
        wide, high = GraphImage(machine, 300, 200).size
        assert wide <= 300 + 1e-9 and high <= 200 + 1e-9


def random_machine(seed):
    """Return a machine of up to six states with edges that join them anyhow."""
    rng = random.Random(seed)
    states = [f"u{k}" for k in range(rng.randint(2, 6))]
    lines = ["start u0", "success done", "failure dead", ""]
    for k, u in enumerate(states):
        following = states[k + 1] if k + 1 < len(states) else "done"
        targets = {*rng.sample([*states, "done", "dead"], rng.randint(1, 4)), following} - {u} | (
            {"dead"} if k == 0 else set()
        )
        letters = iter(rng.sample("abcdef", 6))
        read = []
        for v in sorted(targets):
            guard = " & ".join([(letter := next(letters)), *(f"!{other}" for other in read)])
            read.append(letter)
            lines.append(f"{u} -> {v} when {guard} reward {rng.choice(['0', '-1000', '-d(a) - 0.5*d(b)', '12.5'])}")
        lines.append(f"{u} -> {u} otherwise reward {rng.choice(['0', '-d(a)', '-1'])}")
    return RewardMachine.parse("\n".join(lines))


def gap(box, points):
    """Return the distance of a box from the nearest of some points."""
    left, top, right, bottom = box
    aside = np.maximum(np.maximum(left - points[:, 0], points[:, 0] - right), 0)
    above = np.maximum(np.maximum(top - points[:, 1], points[:, 1] - bottom), 0)
    return np.hypot(aside, above).min()


def test_no_text_is_nearer_to_a_foreign_arrow_than_to_its_own():
    machines = [random_machine(seed) for seed in range(either(200, 12))]
    for machine in [*machines, task("{a,b,c}", kind="numeric"), MACHINES["avoidance everywhere"]]:
        arrows = lay_out(machine).arrows
        for arrow, other in itertools.permutations(arrows, 2):
            own, foreign = (gap(arrow.text_box(), one.curve.points()) for one in (arrow, other))
            assert own <= foreign + 1e-9, (machine.write(), arrow.source, arrow.target, other.source, other.target)


def test_a_machine_with_a_clock_is_drawn_as_it_is_written_or_as_it_is_unrolled():
    machine = MACHINES["clock"]
    written, unrolled = lay_out(machine), lay_out(machine, unrolled=True)
    assert {node.name for node in written.nodes} == {"w", "r", "done", "late"}
    assert {node.name for node in unrolled.nodes} == {*machine.states, "done", "late"} and len(machine.states) == 5
    assert '"w" -> "r" [label="a : 0 do t = 0"]' in to_dot(machine)
    assert '"w[t=0]" -> "r[t=1]" [label="a : 0"]' in to_dot(machine, unrolled=True)
    assert "w --> r : a #58; 0 do t = 0" in to_mermaid(machine)
    assert ">r[t=4]<" in to_svg(machine, unrolled=True) and ">r[t=4]<" not in to_svg(machine)
    assert len(draw_machine(machine).axes[0].texts) < len(draw_machine(machine, unrolled=True).axes[0].texts)


def test_an_unrolled_state_is_highlighted_where_the_drawing_has_its_written_one():
    from PIL import Image

    machine, frames = MACHINES["clock"], []
    for here in ("r[t=2]", "r[t=4]", "w[t=0]"):
        image = Image.new("RGB", (400, 400))
        GraphImage(machine, 400, 400).paint(image, (0, 0), here)
        frames.append(image.tobytes())
    assert frames[0] == frames[1] != frames[2]
    boxes = machine_graph(machine)["boxes"]
    assert boxes["r[t=2]"] == boxes["r[t=4]"] != boxes["w[t=0]"]
