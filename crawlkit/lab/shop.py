"""The shop: 25 listing pages of 20 products, 525 pages, and the same under many spellings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypedDict

from crawlkit.lab.content import Answer, Ask, Place, Section, draw, pick
from crawlkit.lab.markup import Anchor, document, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Product", "Shop", "ShopTracking", "extract_product"]

MATERIALS = (  # noqa: SIM905 - a word a line would fill a screen
    "Amber Ash Bamboo Brass Cedar Cherry Clay Copper Cork Cotton Felt Glass Granite Hazel Iron "
    "Leather Linen Maple Marble Oak Pewter Silver Slate Steel Walnut"
).split()
THINGS = (  # noqa: SIM905 - a word a line would fill a screen
    "Basket Bench Bowl Box Brush Candle Clock Cup Frame Hook Jug Kettle Lamp Mirror Plate "
    "Shelf Spoon Stool Tray Vase"
).split()
CATEGORIES = ("Kitchen", "Living room", "Workshop", "Garden", "Café")
PRODUCT_PATH = re.compile(r"products/(\d{4,9})-[a-z0-9-]+")


class Product(NamedTuple):
    """One product of the shop.

    ``id`` is the natural key, ``price`` is in euros with two decimals, ``stock`` a count.
    """

    number: int
    id: str
    name: str
    price: float
    stock: int
    category: str

    @property
    def slug(self) -> str:
        """The last segment of the product's path."""
        return f"{self.number:04d}-" + self.name.lower().replace(" ", "-")


class HasSelectors(Protocol):
    """A parsed page: anything with ``css_first``."""

    def css_first(self, selector: str, /) -> Any:
        """Return the first node that matches, or None."""


def extract_product(page: HasSelectors) -> Iterator[dict[str, object]]:
    """Yield the product of a shop page: an extractor for `crawlkit.crawl`.

    Pages without a product yield nothing. A product page without a price (the poison page of
    the section ``failing``) makes it raise, as a plain scraper would.

    Yields
    ------
    dict
        ``id`` (str), ``name`` (str), ``price`` (float, euros), ``stock`` (int), ``category``.
    """
    article = page.css_first("article.product")
    if article is None:
        return
    yield {
        "id": article.attributes["data-id"],
        "name": page.css_first("article.product .name").text(),
        "price": float(page.css_first("article.product .price").text()),
        "stock": int(page.css_first("article.product .stock").text()),
        "category": page.css_first("article.product .category").text(),
    }


class Frame(TypedDict):
    """The links outside the main part of a page."""

    header: list[Anchor]
    nav: list[Anchor]
    footer: list[Anchor]


@dataclass(frozen=True)
class Shop(Section):
    """A shop: listing pages with pagination, product pages; no link leads out of it.

    With the defaults exactly 525 pages are reachable from ``/shop/``: 25 listings and 500
    products.

    Parameters
    ----------
    listings
        Number of listing pages.
    per_page
        Products on a listing page.
    """

    name: ClassVar[str] = "shop"

    listings: int = 25
    per_page: int = 20

    def product(self, place: Place, number: int) -> Product:
        """Return product ``number``, counted from 1."""
        key = (place.seed, self.name, place.host)
        # An affine walk visits every pair of words once before any name comes again.
        pairs = len(MATERIALS) * len(THINGS)
        index = (number * 37 + draw(*key, "names")) % pairs
        name = f"{MATERIALS[index // len(THINGS)]} {THINGS[index % len(THINGS)]}"
        if number > pairs:
            name += f" {(number - 1) // pairs + 1}"
        return Product(
            number,
            f"P{number:04d}",
            name,
            (300 + draw(*key, number, "price") % 19_700) / 100,
            draw(*key, number, "stock") % 60,
            pick(CATEGORIES, *key, number, "category"),
        )

    @property
    def size(self) -> int:
        """Number of products."""
        return self.listings * self.per_page

    def listing_path(self, number: int) -> str:
        """Return the path of a listing page; the first has no parameter."""
        return self.start if number == 1 else f"{self.start}?page={number}"

    def product_path(self, product: Product) -> str:
        """Return the path of a product page."""
        return f"{self.start}products/{product.slug}"

    def paths(self, place: Place) -> Iterator[str]:
        """Give the listing pages, then the products."""
        for number in range(1, self.listings + 1):
            yield self.listing_path(number)
        for number in range(1, self.size + 1):
            yield self.product_path(self.product(place, number))

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with a listing or a product page."""
        target = self.plain(ask.target)
        place = ask.place
        found = PRODUCT_PATH.fullmatch(target.removeprefix(self.start))
        if found and 1 <= int(found[1]) <= self.size:
            product = self.product(place, int(found[1]))
            if target == self.product_path(product):
                return self._product_page(place, product)
            return None
        page = re.search(r"\?(?:.*&)?page=(\d{1,7})(?:&|$)", target)
        number = int(page[1]) if page else 1
        if 1 <= number <= self.listings and target == self.listing_path(number):
            return self._listing_page(place, number)
        return None

    def href(self, place: Place, source: str, target: str) -> str:  # noqa: ARG002 - for subclasses
        """Spell the address of one page in a link of another."""
        return target

    def _frame(self, place: Place, source: str) -> Frame:
        """Return the links that every page carries."""
        last = self.listing_path(self.listings)
        return {
            "header": [Anchor(self.href(place, source, self.start), "The practice shop")],
            "nav": [
                Anchor(self.href(place, source, self.start), "All products"),
                Anchor(self.href(place, source, last), "Oldest products"),
            ],
            "footer": [Anchor("mailto:shop@example.com", "Write to us")],
        }

    def _listing_page(self, place: Place, number: int) -> Answer:
        """Write one listing page."""
        source = self.listing_path(number)
        main: list[str | Anchor] = ['<ul class="products">\n']
        first = (number - 1) * self.per_page + 1
        for each in range(first, first + self.per_page):
            product = self.product(place, each)
            href = self.href(place, source, self.product_path(product))
            main += [
                f'<li data-id="{product.id}">',
                Anchor(href, product.name),
                f' <span class="price">{product.price:.2f}</span> EUR</li>\n',
            ]
        main.append('</ul>\n<div class="pagination">\n')
        wanted = {1, number - 2, number - 1, number + 1, number + 2, self.listings} - {number}
        for each in sorted(page for page in wanted if 1 <= page <= self.listings):
            rel = {number - 1: "prev", number + 1: "next"}.get(each, "")
            main.append(Anchor(self.href(place, source, self.listing_path(each)), str(each), rel))
            main.append("\n")
        main.append("</div>\n")
        return document(
            f"All products, page {number} of {self.listings}",
            sentences(2, place.seed, self.name, place.host, source),
            main=main,
            description=f"Products {first} to {first + self.per_page - 1} of {self.size}.",
            canonical=source,
            kind="listing",
            **self._frame(place, source),
        )

    def _product_page(self, place: Place, product: Product) -> Answer:
        """Write one product page."""
        source = self.product_path(product)
        listing = (product.number - 1) // self.per_page + 1
        text = sentences(6, place.seed, self.name, place.host, source)
        facts = json.dumps(
            {
                "@context": "https://schema.org",
                "@type": "Product",
                "sku": product.id,
                "name": product.name,
                "category": product.category,
                "offers": {
                    "@type": "Offer",
                    "price": f"{product.price:.2f}",
                    "priceCurrency": "EUR",
                },
            }
        )
        related = {
            draw(place.seed, self.name, place.host, source, "related", n) % self.size + 1
            for n in range(3)
        } - {product.number}
        back = self.href(place, source, self.listing_path(listing))
        main: list[str | Anchor] = [
            f'<article class="product" data-id="{product.id}">\n'
            f'<p><span class="name">{product.name}</span>: '
            f'<span class="price">{product.price:.2f}</span> EUR, '
            f'<span class="stock">{product.stock}</span> in stock, '
            f'<span class="category">{product.category}</span></p>\n<p>{text}</p>\n</article>\n<p>',
            Anchor(back, f"Back to page {listing}"),
            '</p>\n<ul class="related">\n',
        ]
        for number in sorted(related):
            other = self.product(place, number)
            href = self.href(place, source, self.product_path(other))
            main += ["<li>", Anchor(href, other.name), "</li>\n"]
        main.append("</ul>\n")
        record = product._asdict()
        del record["number"]
        return document(
            product.name,
            main=main,
            description=f"{product.name}, {product.category}: {text[:80]}",
            canonical=source,
            head=f'<script type="application/ld+json">{facts}</script>\n',
            kind="product",
            record=record,
            **self._frame(place, source),
        )


@dataclass(frozen=True)
class ShopTracking(Shop):
    """The shop under many spellings: every link of every page is spelled in its own way.

    Campaign and click parameters, fragments, dot segments, escaped letters and parameters in
    another order; the default URL rules merge them into the same 525 pages.

    Parameters
    ----------
    sessions
        Put a session id into some links as well (``PHPSESSID=``, ``;jsessionid=``), another one
        on each page; merging these takes ``UrlRules(session_ids=True)``.
    """

    name: ClassVar[str] = "shop-tracking"

    sessions: bool = False

    def listing_path(self, number: int) -> str:
        """Return the path of a listing page; it has two parameters, in either order."""
        return self.start if number == 1 else f"{self.start}?page={number}&view=list"

    def plain(self, target: str) -> str:
        """Drop what tracks and identifies, and sort the parameters."""
        path, _, query = target.partition("?")
        path = re.sub(r";jsessionid=[0-9A-F]*", "", path)
        kept = [
            part
            for part in query.split("&")
            if part and not re.match(r"utm_\w+=|gclid=|fbclid=|PHPSESSID=", part)
        ]
        return f"{path}?{'&'.join(sorted(kept))}" if kept else path

    def href(self, place: Place, source: str, target: str) -> str:
        """Spell a link in one of eight ways, or of ten with session ids."""
        path, _, query = target.partition("?")
        key = draw(place.seed, self.name, place.host, source, target)
        token = f"{key:016X}"
        inside = path.removeprefix(self.start)

        def with_query(extra: str, *, path: str = path) -> str:
            return f"{path}?{query}&{extra}" if query else f"{path}?{extra}"

        if inside:
            other = f"{self.start}%70{inside[1:]}"  # "%70" is "p", and inside is "products/..."
        else:
            other = f"{path}?{'&'.join(reversed(query.split('&')))}" if query else target
        spellings = [
            target,
            with_query("utm_source=letter&utm_medium=email&utm_campaign=spring"),
            with_query(f"gclid={token}"),
            with_query(f"fbclid={token.lower()}"),
            f"{target}#reviews",
            self.start + "offers/../" + target.removeprefix(self.start),
            self.start + "./" + target.removeprefix(self.start),
            other,
        ]
        if self.sessions:
            session = f"{draw(place.seed, self.name, source, 'session'):016X}"
            spellings.append(with_query(f"PHPSESSID={session.lower()}"))
            spellings.append(with_query("utm_source=app", path=f"{path};jsessionid={session}"))
        return spellings[key % len(spellings)]
