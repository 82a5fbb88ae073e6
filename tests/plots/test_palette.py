"""Colours that can be seen: on light and on dark pages, and by readers with any kind of colour vision."""

import itertools

import numpy as np
import pytest

from fastrm.plots.palette import COLOURS, PAGE_COLOURS, contrast, heat_shades, ink, rgb

VISIONS = {  # what a screen's linear colours look like (Machado, Oliveira, Fernandes 2009, severity 1)
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def lab(colour, vision):
    """Return the place of a colour in CIELAB, as a reader sees it."""
    parts = np.array(rgb(colour)) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISIONS[vision]) @ linear, 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / np.array([0.95047, 1.0, 1.08883]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", PAGE_COLOURS)
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_colours_of_curves_and_objects_can_be_seen_on_every_page(theme, ground):
    page = PAGE_COLOURS[theme]
    for colour in (*COLOURS, *(page[name] for name in ("learned", "optimal", "shortest", "leaves", "accent"))):
        assert contrast(colour, page[ground]) >= 3, (colour, theme, ground)
    for name in ("ink", "soft", "good", "bad", "unsure"):  # letters
        assert contrast(page[name], page[ground]) >= 4.5, (name, theme, ground)


@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_colours_differ_for_every_reader(vision):
    for one, two in itertools.combinations(COLOURS, 2):
        assert np.linalg.norm(lab(one, vision) - lab(two, vision)) >= 12, (one, two)


@pytest.mark.parametrize("theme", PAGE_COLOURS)
def test_letters_of_objects_and_arrows_can_be_read_on_every_shade(theme):
    page = PAGE_COLOURS[theme]
    assert all(contrast(colour, page["on-disc"]) >= 3 for colour in COLOURS)
    assert all(contrast(page["ink"], shade) >= 4.5 for shade in heat_shades(theme))


def test_inked_colours_are_dark_enough_for_letters():
    assert all(contrast(ink(colour), "#ffffff") >= 4.5 for colour in COLOURS)
