"""The second lock: whatever the renderer did, only these elements and attributes reach the page."""

import nh3

from halo_weave.server.rendering.latex import ATTRIBUTES as MATH_ATTRIBUTES
from halo_weave.server.rendering.latex import ELEMENTS as MATH_ELEMENTS

_BLOCKS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "table", "div"}
_TAGS = {
    *_BLOCKS, *MATH_ELEMENTS,
    "br", "hr", "li", "pre", "code", "span", "em", "strong", "s", "a", "bdi", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_CLASSED = {"a", "code", "pre", "span", "div", "th", "td", "li", "ol", "ul", "p"}
_ATTRIBUTES: dict[str, set[str]] = {
    **{tag: set(MATH_ATTRIBUTES) for tag in MATH_ELEMENTS},
    **{tag: {"class"} for tag in _CLASSED},
    "a": {"href", "target", "class"},
    "ol": {"start", "class"},
    "span": {"class", "aria-label"},
    "div": {"class", "data-language"},
    "math": {"display", "alttext"},
}
_VALUES = {
    **{tag: {"dir": {"auto", "ltr"}} for tag in _BLOCKS},
    "span": {"role": {"img"}},
}


def sanitised(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        tag_attribute_values=_VALUES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
