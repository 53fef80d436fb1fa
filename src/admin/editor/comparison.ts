/** Two texts side by side, or one below the other where there is no room, with what differs marked. */

import { defaultKeymap } from '@codemirror/commands';
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { look } from './look.ts';

export interface ComparedText {
  readonly label: string;
  readonly text: string;
}

export interface ComparisonLook {
  /** One below the other. */
  readonly isNarrow: boolean;
  /** Lines that are the same in both, too. */
  readonly isWhole: boolean;
}

const COLLAPSED = { margin: 3, minSize: 6 };

const comparisonLook = EditorView.theme({
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-soft)' },
  '&.cm-merge-b .cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-soft)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': {
    background: 'none',
    borderBottom: '2px solid var(--bad)',
  },
  '&.cm-merge-b .cm-changedText': { background: 'none', borderBottom: '2px solid var(--good)' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"…"' },
  '.cm-collapsedLines': { color: 'var(--muted)', background: 'var(--sunken)' },
});

/** Puts the comparison into `element`; returns what takes it away. In a shadow tree, as the editor. */
export function showComparison(
  element: HTMLElement,
  before: ComparedText,
  after: ComparedText,
  { isNarrow, isWhole }: ComparisonLook,
): () => void {
  const host = document.createElement('div');
  element.replaceChildren(host);
  const root = host.attachShadow({ mode: 'open' });
  const collapsed = isWhole ? {} : { collapseUnchanged: COLLAPSED };
  const view = isNarrow ? unified(root, before, after, collapsed) : sideBySide(root, before, after, collapsed);
  return () => {
    view.destroy();
    host.remove();
  };
}

type Collapsed = { readonly collapseUnchanged?: typeof COLLAPSED };

function sideBySide(root: ShadowRoot, before: ComparedText, after: ComparedText, collapsed: Collapsed): MergeView {
  return new MergeView({
    a: { doc: before.text, extensions: extensionsOf(before.label) },
    b: { doc: after.text, extensions: extensionsOf(after.label) },
    root,
    parent: root,
    gutter: true,
    ...collapsed,
  });
}

function unified(root: ShadowRoot, before: ComparedText, after: ComparedText, collapsed: Collapsed): EditorView {
  const marks = unifiedMergeView({ original: before.text, mergeControls: false, ...collapsed });
  const label = `${before.label}, and ${after.label}`;
  return new EditorView({ doc: after.text, extensions: [extensionsOf(label), marks], root, parent: root });
}

/** Without colours for the syntax: those mark what differs. */
function extensionsOf(label: string): Extension {
  return [
    lineNumbers(),
    look,
    comparisonLook,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorState.readOnly.of(true),
    keymap.of(defaultKeymap),
  ];
}
