/** CodeMirror, with what the page needs of it. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { linter, lintGutter } from '@codemirror/lint';
import { Annotation, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export type Language = 'json' | 'javascript' | 'text';

interface CodeEditorOptions {
  readonly label: string;
  readonly language: Language;
  readonly isReadOnly: boolean;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

/** Marks a change that the page makes, not the user. */
const isReplacement = Annotation.define<boolean>();

/** Colours are variables of the page, which a shadow tree inherits. */
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.keyword, tags.controlKeyword], color: 'var(--bad)' },
  { tag: tags.comment, color: 'var(--muted)' },
]);

const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '12.5px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '19px' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', border: '0' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--sunken)' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': { color: 'var(--ink)', backgroundColor: 'var(--surface)', border: '1px solid var(--line)' },
});

export class CodeEditor {
  readonly #view: EditorView;
  readonly #host: HTMLElement;

  /** The editor is in a shadow tree: there its styles need no exception from the page's Content-Security-Policy. */
  constructor(element: HTMLElement, options: CodeEditorOptions) {
    this.#host = document.createElement('div');
    element.replaceChildren(this.#host);
    const root = this.#host.attachShadow({ mode: 'open' });
    const state = EditorState.create({ doc: options.text, extensions: extensionsOf(options) });
    this.#view = new EditorView({ state, root, parent: root });
  }

  /** Replaces the whole text, without calling `onChange`. */
  replace(text: string): void {
    const changes = { from: 0, to: this.#view.state.doc.length, insert: text };
    this.#view.dispatch({ changes, annotations: isReplacement.of(true) });
  }

  focus(): void {
    this.#view.focus();
  }

  close(): void {
    this.#view.destroy();
    this.#host.remove();
  }
}

function extensionsOf({ label, language, isReadOnly, onChange }: CodeEditorOptions): Extension[] {
  return [
    lineNumbers(),
    foldGutter(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    syntaxHighlighting(colours),
    look,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorState.readOnly.of(isReadOnly),
    // Escape and then Tab leaves the editor.
    keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
    EditorView.updateListener.of((update) => {
      const isTyped = !update.transactions.some((one) => one.annotation(isReplacement) === true);
      if (update.docChanged && isTyped) onChange(update.state.doc.toString());
    }),
    ...languageOf(language),
  ];
}

function languageOf(language: Language): Extension[] {
  if (language === 'json') return [json(), linter(jsonParseLinter()), lintGutter()];
  return language === 'javascript' ? [javascript()] : [];
}
