"""Pictures of products: the matrices and places they show, and what they refuse."""

import xml.etree.ElementTree as ElementTree

import pytest

from lanewise.plots_products import Matrix, backward_passes, products

SVG = "{http://www.w3.org/2000/svg}"
S = (Matrix("Q", "queries", "d", "shared"), Matrix("Kᵀ", "d", "keys", "shared"), Matrix("S", "queries", "keys", "registers"))


def kinds(picture):
    """How many matrices lie in registers, in shared and in global memory; the legend has one of each."""
    boxes = [node.get("class") for node in ElementTree.fromstring(picture.svg).iter(f"{SVG}rect")]
    return [boxes.count(kind) - 1 for kind in ("warm", "soft", "none")]


def test_a_product_shows_where_its_matrices_lie():
    picture = products((("forward", [S]),))
    texts = [node.text for node in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]
    assert kinds(picture) == [1, 2, 0]
    assert ["S", "queries × keys", "Q", "queries × d", "Kᵀ", "d × keys"] == [text for text in texts if text in "S Q Kᵀ" or "×" in text and len(text) > 1]
    assert picture.alt == "forward: S (registers) from Q (shared) and Kᵀ (shared)."


def test_the_backward_passes_have_five_and_three_products():
    picture = backward_passes()
    assert picture.alt.count("keys stay:") == 5 and picture.alt.count("queries stay:") == 3
    assert kinds(picture) == [6 + 4, 8 + 5, 1]  # of three matrices a product
    assert "dQ (global) from dS (shared) and K (shared)" in picture.alt


@pytest.mark.parametrize(
    ("product", "says"),
    [((S[0], S[1], Matrix("S", "queries", "keys", "L2")), "name one of registers, shared, global"), ((S[1], S[0], S[2]), "S = Kᵀ Q doesn't fit")],
)
def test_what_it_refuses(product, says):
    with pytest.raises(ValueError, match=says):
        products((("forward", [product]),))
