/** What is wrong with fields, and what a form can't show. */
import { isJsonNumber } from '../../json/edit-tree.ts';
import { isContainer, type JsonEntry, JsonMistake, type JsonTree, nameOf, parseJson } from '../../json/json-tree.ts';
import { isReservedName } from '../../staging/edit-text.ts';

export interface FieldProblem {
  readonly name?: string | undefined;
  readonly value?: string | undefined;
}

/** What keeps a text from being shown as a form; or its tree. */
export type FormContent =
  | { readonly tree: JsonTree; readonly why: undefined }
  | { readonly tree: undefined; readonly why: string };

/** Characters of a document: in a longer one, each keystroke would take too long. */
const MAX_CHARACTERS = 2_000_000;

/** A form must show everything that is in the source, and change nothing but what is typed. */
export function formContentOf(text: string): FormContent {
  if (text.length > MAX_CHARACTERS) return { tree: undefined, why: 'The document is too long for a form.' };
  try {
    const tree = parseJson(text);
    if (tree.kind !== 'object') return { tree: undefined, why: 'A document must be a JSON object.' };
    const twice = firstDuplicate(tree);
    if (twice === undefined) return { tree, why: undefined };
    return {
      tree: undefined,
      why: `The field ${twice} occurs twice in the same object. A form can't show that: only the last one counts, and the others are lost when a program stores the document.`,
    };
  } catch (error) {
    const message = error instanceof JsonMistake ? error.message : `${error}`;
    return { tree: undefined, why: `The source is not JSON: ${message}` };
  }
}

function firstDuplicate(tree: JsonTree): string | undefined {
  if (!isContainer(tree)) return undefined;
  if (tree.kind === 'object') {
    const duplicates = duplicatesIn(tree.entries);
    for (const name of duplicates) return name;
  }
  for (const { value } of tree.entries) {
    const inside = firstDuplicate(value);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

function duplicatesIn(entries: readonly JsonEntry[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of entries.map(nameOf)) (seen.has(name) ? twice : seen).add(name);
  return twice;
}

/** By the keys of the entries. Empty: nothing is wrong. */
export function problemsOf(tree: JsonTree): ReadonlyMap<number, FieldProblem> {
  const found = new Map<number, FieldProblem>();
  const visit = (value: JsonTree, isTop: boolean): void => {
    if (!isContainer(value)) return;
    const twice = value.kind === 'object' ? duplicatesIn(value.entries) : new Set<string>();
    for (const entry of value.entries) {
      const problem = {
        name: value.kind === 'object' ? nameProblem(nameOf(entry), twice, isTop) : undefined,
        value: entry.value.kind === 'number' ? numberProblem(entry.value.text) : undefined,
      };
      if (problem.name !== undefined || problem.value !== undefined) found.set(entry.key, problem);
      visit(entry.value, false);
    }
  };
  visit(tree, true);
  return found;
}

function nameProblem(name: string, twice: ReadonlySet<string>, isTop: boolean): string | undefined {
  if (twice.has(name)) return 'Another field of this object has the same name.';
  if (isTop && isReservedName(name)) return 'Names that begin with _ are reserved.';
  return undefined;
}

export function numberProblem(text: string): string | undefined {
  if (text.trim() === '') return 'A number is missing.';
  if (/^[+-]?(nan|infinity)$/i.test(text.trim())) return `JSON has no ${text.trim()}. Use null, or a text.`;
  if (!isJsonNumber(text)) return `This is not a number in JSON${hintFor(text)}.`;
  if (!Number.isFinite(Number(text))) return 'This number is beyond what programs can read: 1.8e308 at most.';
  return undefined;
}

function hintFor(text: string): string {
  const mended = text
    .trim()
    .replace(',', '.')
    .replace(/^\+/, '')
    .replace(/^(-?)0+(?=\d)/, '$1')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.$/, '');
  return isJsonNumber(mended) ? `: write ${mended}` : '';
}

/** What programs in JavaScript read, if that is another number; undefined otherwise. */
export function roundedNumber(text: string): string | undefined {
  if (!isJsonNumber(text) || !Number.isFinite(Number(text))) return undefined;
  const read = Number(text);
  return digitsOf(text) === digitsOf(`${read}`) ? undefined : `${read}`;
}

/** The digits that count, and where the point is. */
function digitsOf(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace('-', '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + (digits.length - significant.length)}`;
}
