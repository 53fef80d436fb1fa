/** Changes of a tree. Each returns a new tree; what is not changed is the same as before. */
import {
  isContainer,
  type JsonContainer,
  type JsonEntry,
  type JsonKind,
  type JsonTree,
  nameOf,
  newKey,
  parseJson,
  stringOf,
} from './json-tree.ts';
import { printCompact } from './print-json.ts';

/** The keys of the entries on the way from the root. */
export type Path = readonly number[];

/** Replaces the entries of the container at `path`. */
export function withEntries(
  tree: JsonTree,
  path: Path,
  change: (entries: readonly JsonEntry[]) => readonly JsonEntry[],
): JsonTree {
  if (!isContainer(tree)) return tree;
  const [first, ...rest] = path;
  if (first === undefined) return { ...tree, entries: change(tree.entries) };
  const entries = tree.entries.map((entry) =>
    entry.key === first ? { ...entry, value: withEntries(entry.value, rest, change) } : entry,
  );
  return { ...tree, entries };
}

/** Replaces the entry at `path`, or takes it away if `change` returns undefined. */
export function withEntry(tree: JsonTree, path: Path, change: (entry: JsonEntry) => JsonEntry | undefined): JsonTree {
  const key = path.at(-1);
  return withEntries(tree, path.slice(0, -1), (entries) =>
    entries.flatMap((entry) => (entry.key === key ? (change(entry) ?? []) : [entry])),
  );
}

/** Moves the entry at `path` by one place, if it isn't the first or the last. */
export function moved(tree: JsonTree, path: Path, by: 1 | -1): JsonTree {
  return withEntries(tree, path.slice(0, -1), (entries) => {
    const from = entries.findIndex(({ key }) => key === path.at(-1));
    const [one, other] = [entries[from], entries[from + by]];
    if (one === undefined || other === undefined) return entries;
    return entries.map((entry) => (entry === one ? other : entry === other ? one : entry));
  });
}

/** Returns a member with a name that none of `entries` has. */
export function newMember(entries: readonly JsonEntry[]): JsonEntry {
  const names = new Set(entries.map(nameOf));
  let name = 'field';
  for (let number = 2; names.has(name); number += 1) name = `field ${number}`;
  return { key: newKey(), nameText: JSON.stringify(name), value: emptyOf('string') };
}

/** Returns an item of the kind of the last one. */
export function newItem(entries: readonly JsonEntry[]): JsonEntry {
  return { key: newKey(), nameText: '', value: emptyOf(entries.at(-1)?.value.kind ?? 'string') };
}

function emptyOf(kind: JsonKind): JsonTree {
  if (kind === 'array' || kind === 'object') return { kind, entries: [] };
  return { kind, text: { string: '""', number: '0', boolean: 'false', null: 'null' }[kind] };
}

const WHOLE_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** Whether the text is a number in JSON. */
export function isJsonNumber(text: string): boolean {
  return WHOLE_NUMBER.test(text);
}

/** Returns the value as another kind, with as much of its content as that kind can hold. */
export function converted(value: JsonTree, kind: JsonKind): JsonTree {
  if (value.kind === kind) return value;
  if (kind === 'string') return toText(value);
  if (kind === 'array' || kind === 'object') return toContainer(value, kind);
  const plain = value.kind === 'string' ? stringOf(value.text).trim() : isContainer(value) ? '' : value.text;
  if (kind === 'number' && isJsonNumber(plain)) return { kind, text: plain };
  if (kind === 'number' && plain === 'true') return { kind, text: '1' };
  if (kind === 'boolean' && isTruthy(plain)) return { kind, text: 'true' };
  return emptyOf(kind);
}

function isTruthy(plain: string): boolean {
  return plain === 'true' || (isJsonNumber(plain) && Number(plain) !== 0);
}

function toText(value: JsonTree): JsonTree {
  if (value.kind === 'null') return emptyOf('string');
  const text = isContainer(value) ? (value.entries.length === 0 ? '' : printCompact(value)) : value.text;
  return { kind: 'string', text: JSON.stringify(text) };
}

function toContainer(value: JsonTree, kind: 'array' | 'object'): JsonTree {
  if (isContainer(value))
    return { kind, entries: value.entries.map((entry, at) => ({ ...entry, nameText: nameFor(entry, kind, at) })) };
  const parsed = value.kind === 'string' ? parsedContainer(stringOf(value.text)) : undefined;
  if (parsed !== undefined) return parsed.kind === kind ? parsed : toContainer(parsed, kind);
  if (value.kind === 'null' || value.text === '""') return { kind, entries: [] };
  return { kind, entries: [{ key: newKey(), nameText: kind === 'array' ? '' : '"value"', value }] };
}

function nameFor({ nameText }: JsonEntry, kind: 'array' | 'object', at: number): string {
  if (kind === 'array') return '';
  return nameText === '' ? `"${at}"` : nameText;
}

function parsedContainer(text: string): JsonContainer | undefined {
  try {
    const tree = parseJson(text);
    return isContainer(tree) ? tree : undefined;
  } catch {
    return undefined;
  }
}
