/** The content of the form, and what can be undone in it. */
import { useRef, useState } from 'preact/hooks';
import type { JsonTree } from '../../json/json-tree.ts';
import { printPretty } from '../../json/print-json.ts';
import { type FieldProblem, type FormContent, formContentOf, problemsOf } from './field-problems.ts';

interface State {
  /** The text that the content belongs to. */
  readonly text: string;
  readonly content: FormContent;
  /** Former trees, the last one being the newest. */
  readonly former: readonly JsonTree[];
  /** What was changed last. Changes of the same are undone together. */
  readonly lastWhat: string | undefined;
}

export interface Form {
  readonly content: FormContent;
  readonly problems: ReadonlyMap<number, FieldProblem>;
  /** `what`: changes of the same thing, one after the other, are undone together. Empty: this one is undone by itself. */
  readonly change: (what: string, tree: JsonTree) => void;
  /** Undefined: there is nothing to be undone. */
  readonly undo: (() => void) | undefined;
}

/** Changes that can be undone. */
const MAX_UNDO_STEPS = 200;

/** `text`: the source. `onChange` gets the source after a change, and what is wrong with its fields. */
export function useForm(text: string, onChange: (text: string, problem: string | undefined) => void): Form {
  const [, renew] = useState({});
  const state = useRef<State>(undefined);
  // What the form itself has printed comes back as the text. Any other text begins a new form.
  if (state.current?.text !== text) state.current = beginWith(text);
  const { content, former, lastWhat } = state.current;
  const show = (tree: JsonTree, next: Pick<State, 'former' | 'lastWhat'>) => {
    const printed = printPretty(tree);
    state.current = { text: printed, content: { tree, why: undefined }, ...next };
    onChange(printed, firstProblem(problemsOf(tree)));
    renew({});
  };
  const last = former.at(-1);
  return {
    content,
    problems: content.tree === undefined ? new Map() : problemsOf(content.tree),
    change: (what, tree) => {
      if (content.tree === undefined || tree === content.tree) return;
      const isSame = what !== '' && what === lastWhat;
      show(tree, { former: isSame ? former : [...former, content.tree].slice(-MAX_UNDO_STEPS), lastWhat: what });
    },
    undo: last === undefined ? undefined : () => show(last, { former: former.slice(0, -1), lastWhat: undefined }),
  };
}

function beginWith(text: string): State {
  return { text, content: formContentOf(text), former: [], lastWhat: undefined };
}

function firstProblem(problems: ReadonlyMap<number, FieldProblem>): string | undefined {
  for (const { name, value } of problems.values()) return `A field of the form is wrong: ${name ?? value}`;
  return undefined;
}
