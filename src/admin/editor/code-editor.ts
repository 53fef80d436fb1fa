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
import { type Diagnostic, linter, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Annotation, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { syntaxMistake } from './syntax.ts';

export type Language = 'json' | 'javascript' | 'text';

/** What is wrong with a line, counted from 1. */
export interface Problem {
  readonly line: number;
  readonly message: string;
}

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
  // As tall as the editor: a click below the text is for the text.
  '.cm-content, .cm-gutter': { minHeight: 'var(--editor-height)' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', border: '0' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--sunken)' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': { color: 'var(--ink)', backgroundColor: 'var(--surface)', border: '1px solid var(--line)' },
});

/** The lines that are marked now. The linter runs later and would forget them otherwise. */
interface Marks {
  problems: readonly Problem[];
}

export class CodeEditor {
  readonly #view: EditorView;
  readonly #host: HTMLElement;
  readonly #marks: Marks = { problems: [] };

  /** The editor is in a shadow tree: there its styles need no exception from the page's Content-Security-Policy. */
  constructor(element: HTMLElement, options: CodeEditorOptions) {
    this.#host = document.createElement('div');
    element.replaceChildren(this.#host);
    const root = this.#host.attachShadow({ mode: 'open' });
    const state = EditorState.create({ doc: options.text, extensions: extensionsOf(options, this.#marks) });
    this.#view = new EditorView({ state, root, parent: root });
  }

  /** Replaces the whole text, without calling `onChange`. */
  replace(text: string): void {
    const changes = { from: 0, to: this.#view.state.doc.length, insert: text };
    this.#view.dispatch({ changes, annotations: isReplacement.of(true) });
  }

  /** Marks lines until the text is changed. */
  mark(problems: readonly Problem[]): void {
    this.#marks.problems = problems;
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnosticsOf(this.#view.state, problems)));
  }

  focus(): void {
    this.#view.focus();
  }

  close(): void {
    this.#view.destroy();
    this.#host.remove();
  }
}

function extensionsOf({ label, language, isReadOnly, onChange }: CodeEditorOptions, marks: Marks): Extension[] {
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
      if (!update.docChanged) return;
      marks.problems = [];
      const isTyped = !update.transactions.some((one) => one.annotation(isReplacement) === true);
      if (isTyped) onChange(update.state.doc.toString());
    }),
    ...languageOf(language, marks),
  ];
}

function languageOf(language: Language, marks: Marks): Extension[] {
  if (language === 'json') return [json(), linter(jsonParseLinter()), lintGutter()];
  if (language !== 'javascript') return [];
  const find = ({ state }: EditorView) => [...mistakesIn(state), ...diagnosticsOf(state, marks.problems)];
  return [javascript(), linter(find), lintGutter()];
}

function mistakesIn({ doc }: EditorState): readonly Diagnostic[] {
  const source = doc.toString();
  const mistake = source.trim() === '' ? undefined : syntaxMistake(source);
  if (mistake === undefined) return [];
  const { from, to } = doc.lineAt(mistake.at);
  const at = Math.max(from, Math.min(mistake.at, to - 1));
  return [{ from: at, to, severity: 'error', message: 'The syntax is wrong here.' }];
}

function diagnosticsOf({ doc }: EditorState, problems: readonly Problem[]): readonly Diagnostic[] {
  return problems
    .filter(({ line }) => line >= 1 && line <= doc.lines)
    .map(({ line, message }) => ({ from: doc.line(line).from, to: doc.line(line).to, severity: 'error', message }));
}
