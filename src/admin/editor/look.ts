/** What editors look like. */
import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** Colours are variables of the page, which a shadow tree inherits. */
export const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.keyword, tags.controlKeyword], color: 'var(--bad)' },
  { tag: tags.comment, color: 'var(--muted)' },
]);

export const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '12.5px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '19px' },
  // As tall as the editor: a click below the text is for the text.
  '.cm-content, .cm-gutter': { minHeight: 'var(--editor-height)' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', border: '0' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--sunken)' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  // The link beside an id.
  '.cm-id-link': { marginLeft: '4px', color: 'var(--accent)', fontFamily: 'var(--sans)' },
  '.cm-tooltip': { color: 'var(--ink)', backgroundColor: 'var(--surface)', border: '1px solid var(--line)' },
});
