"""Boxes around the lead and their rings of arms against the plain lists and intersections that they stand for."""

import itertools
from typing import Any

import numpy as np
import pytest

from outlay.beliefs import Lead
from outlay.formulas.lazy_leader import (
    ANY_PRICE,
    BOXES,
    TIMES,
    UNCERTAIN,
    WIDTHS,
    LeadBoxes,
    box_around,
    draw_box,
    edge,
    forget_boxes,
    join,
    leave,
    meet,
    within,
)

ARMS = 7


def fresh_boxes() -> LeadBoxes:
    """With anything in them that an earlier run may have left."""
    boxes = LeadBoxes.start(ARMS)
    for array in boxes:
        array[...] = 3
    forget_boxes(boxes)
    return boxes


def arms_of(boxes: LeadBoxes, ring: int) -> list[int]:
    """The arms of a ring, once around it forwards; backwards they are the same."""
    head = ARMS + ring
    ahead, behind = [head], [head]
    while len(ahead) == 1 or ahead[-1] != head:
        ahead.append(int(boxes.ahead[ahead[-1]]))
        behind.append(int(boxes.behind[behind[-1]]))
        assert len(ahead) <= ARMS + 2, "a ring without end"
    assert behind == ahead[::-1]
    return ahead[1:-1]


def lead_at(rng: np.random.Generator) -> Lead:
    return Lead(*rng.uniform(0.5, 2.0, len(Lead._fields)).tolist())


def moved(lead: Lead, **by: float) -> Lead:
    return lead._replace(**{name: getattr(lead, name) * factor for name, factor in by.items()})


def test_rings_are_the_lists_they_stand_for() -> None:
    rng, boxes = np.random.default_rng(0), fresh_boxes()
    rings: list[list[int]] = [[] for _ in range(BOXES + 1)]
    for _ in range(500):
        arm, ring = int(rng.integers(ARMS)), int(rng.integers(BOXES + 1))
        if not any(arm in members for members in rings):
            join(boxes, arm, ring)
            rings[ring].insert(0, arm)
        else:
            leave(boxes, arm)
            rings = [[other for other in members if other != arm] for members in rings]
            leave(boxes, arm)  # of an arm in no ring: nothing
        assert [arms_of(boxes, ring) for ring in range(BOXES + 1)] == rings
        assert boxes.ring.tolist() == [
            next((ring for ring, members in enumerate(rings) if arm in members), -1) for arm in range(ARMS)
        ]


def test_to_forget_is_to_begin_anew() -> None:
    boxes = fresh_boxes()
    assert [arms_of(boxes, ring) for ring in range(UNCERTAIN + 1)] == [[]] * (BOXES + 1)
    assert boxes.ring.tolist() == [-1] * ARMS
    assert not boxes.drawn.any()
    assert not boxes.doubt.any()
    assert within(boxes, BOXES, lead_at(np.random.default_rng(1)))  # where no box is drawn, all of them meet everywhere


@pytest.mark.parametrize("box", range(BOXES))
def test_a_box_holds_its_lead_and_what_it_is_drawn_for(box: int) -> None:
    rng, boxes = np.random.default_rng(box), fresh_boxes()
    lead, width, times = lead_at(rng), WIDTHS[box], TIMES[box]
    draw_box(boxes, box, lead)
    assert boxes.drawn.tolist() == [int(other == box) for other in range(BOXES)]
    assert (edge(boxes, box, 0), edge(boxes, box, 1)) == box_around(lead, width, times, ANY_PRICE if box == 0 else 1.0)
    half, too_far, grown = 0.5 * width, 1.1 * width, 1.0 + 0.99 * (times - 1.0)
    inside: list[dict[str, Any]] = [{}, {"spend": 0.1}, {"spend": grown}, {"spent": grown}]
    outside: list[dict[str, Any]] = [{"spend": times + 1e-5}, {"spent": times + 1e-5}, {"spent": 0.99}]
    for name in ("rate", "price", "spread", "size", "usual_price"):
        inside += [{name: 1.0 - half}, {name: 1.0 + half}]
    for name in ("rate", "size", "usual_price"):
        outside += [{name: 1.0 - too_far}, {name: 1.0 + too_far}]
    for name in ("arms", "reward_max", "cost_min", "cost_max"):
        outside += [{name: 0.9999}, {name: 1.0001}]
    assert all(within(boxes, box, moved(lead, **by)) for by in inside)
    assert not any(within(boxes, box, moved(lead, **by)) for by in outside)


def test_all_boxes_meet_where_each_of_them_is() -> None:
    rng, boxes = np.random.default_rng(2), fresh_boxes()
    drawn: dict[int, tuple[Lead, Lead]] = {}
    for turn in range(200):
        box = int(rng.integers(BOXES))
        if box in drawn:
            boxes.drawn[box] = 0
            del drawn[box]
            meet(boxes)
        else:
            draw_box(boxes, box, lead_at(rng))
            drawn[box] = edge(boxes, box, 0), edge(boxes, box, 1)
        low = [max((pair[0][i] for pair in drawn.values()), default=-np.inf) for i in range(len(Lead._fields))]
        high = [min((pair[1][i] for pair in drawn.values()), default=np.inf) for i in range(len(Lead._fields))]
        assert boxes.edges[BOXES].tolist() == [low, high], turn
        for lead, side in itertools.product([lead_at(rng)], (0, 1)):
            corner = Lead(*(edge(boxes, box, side) if drawn else lead))
            for place in (lead, corner):
                assert within(boxes, BOXES, place) == all(
                    all(a <= x <= b for a, x, b in zip(*(pair[0], place, pair[1]), strict=True))
                    for pair in drawn.values()
                )
