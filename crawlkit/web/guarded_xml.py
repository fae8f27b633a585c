"""An XML parser that reads in pieces under defusedxml's rules: no entity, nothing from outside."""

from __future__ import annotations

from xml.parsers import expat

from defusedxml.expatreader import DefusedExpatParser

__all__ = ["guarded_parser", "let_go"]


def guarded_parser(*, forbid_dtd: bool) -> expat.XMLParserType:
    """Return an expat parser for UTF-8 that refuses what defusedxml refuses.

    Parameters
    ----------
    forbid_dtd
        Whether a document type declaration is refused, too.
    """
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 65_536
    rules = DefusedExpatParser(forbid_dtd=forbid_dtd)
    if forbid_dtd:
        parser.StartDoctypeDeclHandler = rules.defused_start_doctype_decl
    parser.EntityDeclHandler = rules.defused_entity_decl
    parser.UnparsedEntityDeclHandler = rules.defused_unparsed_entity_decl
    parser.ExternalEntityRefHandler = rules.defused_external_entity_ref_handler  # type: ignore[assignment]
    return parser


def let_go(parser: expat.XMLParserType) -> None:
    """Take the handlers of elements and text from a parser that is done.

    Handlers that hold the parser that holds them would wait for the garbage collector.
    """
    parser.StartElementHandler = parser.EndElementHandler = None
    parser.CharacterDataHandler = None
