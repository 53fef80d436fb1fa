/** CodeMirror, with what the page needs of it. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Annotation, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { JsonMistake, parseJson } from '../json/json-tree.ts';
import { idLinks, setLinkedIds } from './id-links.ts';
import { colours, look } from './look.ts';
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

  /** Puts a link beside each string that is one of the ids. Only in JSON. */
  linkIds(ids: ReadonlyMap<string, string>): void {
    this.#view.dispatch({ effects: setLinkedIds.of(ids) });
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
  if (language === 'json') return [json(), linter(jsonMistakesIn), lintGutter(), idLinks];
  if (language !== 'javascript') return [];
  const find = ({ state }: EditorView) => [...mistakesIn(state), ...diagnosticsOf(state, marks.problems)];
  return [javascript(), linter(find), lintGutter()];
}

function jsonMistakesIn({ state: { doc } }: EditorView): readonly Diagnostic[] {
  try {
    if (doc.length > 0) parseJson(doc.toString());
    return [];
  } catch (error) {
    if (!(error instanceof JsonMistake)) throw error;
    const at = Math.min(error.at, doc.length);
    const message = error.message.replace(/^line \d+, column \d+: ./, (text) => text.slice(-1).toUpperCase());
    return [{ from: at, to: at, severity: 'error', message }];
  }
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
