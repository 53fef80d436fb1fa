/** Which fields of a database are shown as Markdown: what the user chose, or what their text looks like. */
import { signal } from '@preact/signals';
import { looksLikeMarkdown } from '../markdown/blocks.ts';

type Choices = Readonly<Record<string, boolean>>;

const PREFIX = 'settee-utils/markdown/';
/** By database. */
const known = signal<ReadonlyMap<string, Choices>>(new Map());

/** `field`: the names on the way to it, as `text` or `notes[].text`. */
export function isMarkdown(database: string, field: string, text: string): boolean {
  return choicesOf(database)[field] ?? looksLikeMarkdown(text);
}

export function chooseMarkdown(database: string, field: string, choice: boolean): void {
  const choices = { ...choicesOf(database), [field]: choice };
  known.value = new Map(known.value).set(database, choices);
  localStorage.setItem(PREFIX + database, JSON.stringify(choices));
}

function choicesOf(database: string): Choices {
  return known.value.get(database) ?? stored(database);
}

function stored(database: string): Choices {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(PREFIX + database) ?? '{}');
    const pairs = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(pairs.filter(([, choice]) => typeof choice === 'boolean'));
  } catch {
    return {};
  }
}
