/** Two texts side by side, or one below the other where there is no room, with what differs marked. */
import { json } from '@codemirror/lang-json';
import { syntaxHighlighting } from '@codemirror/language';
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { defaultKeymap } from '@codemirror/commands';
import { colours, look } from './look.ts';

export interface ComparedText {
  readonly label: string;
  readonly text: string;
}

const COLLAPSED = { margin: 3, minSize: 6 };

const comparisonLook = EditorView.theme({
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-soft)' },
  '&.cm-merge-b .cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-soft)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'none', borderBottom: '2px solid var(--bad)' },
  '&.cm-merge-b .cm-changedText': { background: 'none', borderBottom: '2px solid var(--good)' },
  '.cm-collapsedLines': { color: 'var(--muted)', background: 'var(--sunken)' },
});

/** Puts the comparison into `element`; returns what takes it away. In a shadow tree, as the editor. */
export function showComparison(
  element: HTMLElement,
  before: ComparedText,
  after: ComparedText,
  isNarrow: boolean,
): () => void {
  const host = document.createElement('div');
  element.replaceChildren(host);
  const root = host.attachShadow({ mode: 'open' });
  const view = isNarrow ? unified(root, before, after) : sideBySide(root, before, after);
  return () => {
    view.destroy();
    host.remove();
  };
}

function sideBySide(root: ShadowRoot, before: ComparedText, after: ComparedText): MergeView {
  return new MergeView({
    a: { doc: before.text, extensions: extensionsOf(before.label) },
    b: { doc: after.text, extensions: extensionsOf(after.label) },
    root,
    parent: root,
    collapseUnchanged: COLLAPSED,
    gutter: true,
  });
}

function unified(root: ShadowRoot, before: ComparedText, after: ComparedText): EditorView {
  const marks = unifiedMergeView({ original: before.text, mergeControls: false, collapseUnchanged: COLLAPSED });
  const label = `${before.label}, and ${after.label}`;
  return new EditorView({ doc: after.text, extensions: [extensionsOf(label), marks], root, parent: root });
}

function extensionsOf(label: string): Extension {
  return [
    lineNumbers(),
    json(),
    syntaxHighlighting(colours),
    look,
    comparisonLook,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorState.readOnly.of(true),
    keymap.of(defaultKeymap),
  ];
}
