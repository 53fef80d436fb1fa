/** Versions of a document, and one of them made of all, field by field. */
import { type JsonEntry, JsonMistake, type JsonTree, nameOf, newKey, parseJson } from '../../json/json-tree.ts';
import { printCompact } from '../../json/print-json.ts';

export interface Version {
  /** Different from that of every other version. */
  readonly key: string;
  readonly label: string;
  /** An object. The members of the first version come first in what is made. */
  readonly tree: JsonTree;
}

/** The value of a field: that of the version with that key, which may have none; or what was typed instead. */
export type Choice = { readonly from: string } | { readonly own: string };
export type Choices = ReadonlyMap<string, Choice>;

/** Not chosen by field: the id is the same, and attachments are chosen by themselves. */
const APART = new Set(['_id', '_rev', '_attachments']);

/** Names of fields: where the versions differ, and where they are the same. */
export interface ComparedFields {
  readonly different: readonly string[];
  readonly same: readonly string[];
}

export function comparedFields(versions: readonly Version[]): ComparedFields {
  const all = versions.map(({ tree }) => textsOf(tree));
  const names = [...new Set(all.flatMap((texts) => [...texts.keys()]))].filter((name) => !APART.has(name));
  const isSame = (name: string) => new Set(all.map((texts) => texts.get(name))).size === 1;
  return { different: names.filter((name) => !isSame(name)), same: names.filter(isSame) };
}

/** By tree: each is asked for the same many times. */
const knownTexts = new WeakMap<JsonTree, ReadonlyMap<string, string>>();

/** By name, as compact JSON. */
function textsOf(tree: JsonTree): ReadonlyMap<string, string> {
  const texts =
    knownTexts.get(tree) ?? new Map(entriesOf(tree).map((entry) => [nameOf(entry), printCompact(entry.value)]));
  knownTexts.set(tree, texts);
  return texts;
}

function entriesOf(tree: JsonTree): readonly JsonEntry[] {
  return tree.kind === 'object' ? tree.entries : [];
}

/** Different values of one field, each with the versions that have it. */
export interface Alternative {
  /** Compact JSON; undefined: these versions have no such field. */
  readonly text: string | undefined;
  readonly versions: readonly Version[];
}

export function alternativesOf(versions: readonly Version[], name: string): readonly Alternative[] {
  const found = new Map<string | undefined, Version[]>();
  for (const version of versions) {
    const text = textsOf(version.tree).get(name);
    found.set(text, [...(found.get(text) ?? []), version]);
  }
  return [...found].map(([text, own]) => ({ text, versions: own }));
}

/** What was chosen for a field: compact JSON; undefined: no such field. Without a choice, what the first version has. */
export function chosenText(versions: readonly Version[], choices: Choices, name: string): string | undefined {
  const choice = choices.get(name);
  if (choice !== undefined && 'own' in choice) return choice.own.trim() === '' ? undefined : choice.own;
  const version = versions.find(({ key }) => key === choice?.from) ?? versions[0];
  return version === undefined ? undefined : textsOf(version.tree).get(name);
}

/** Fails with a `JsonMistake` if what was typed for a field is not JSON. */
export function mergedTree(versions: readonly Version[], choices: Choices): JsonTree {
  const [first] = versions;
  const { different } = comparedFields(versions);
  const names = new Set(different);
  const entries = entriesOf(first?.tree ?? { kind: 'object', entries: [] }).flatMap((entry) => {
    const name = nameOf(entry);
    if (!names.delete(name)) return [entry];
    const text = chosenText(versions, choices, name);
    return text === undefined ? [] : [{ ...entry, value: parseJson(text) }];
  });
  for (const name of names) {
    const text = chosenText(versions, choices, name);
    if (text !== undefined) entries.push({ key: newKey(), nameText: JSON.stringify(name), value: parseJson(text) });
  }
  return { kind: 'object', entries };
}

/** Why what was typed for a field can't be its value; undefined: it can. */
export function ownProblem(choice: Choice | undefined): string | undefined {
  if (choice === undefined || !('own' in choice) || choice.own.trim() === '') return undefined;
  try {
    parseJson(choice.own);
    return undefined;
  } catch (error) {
    return `This is not JSON: ${error instanceof JsonMistake ? error.message : error}`;
  }
}

/** A value that is not in what was made. */
export interface LostValue {
  readonly name: string;
  readonly text: string;
  readonly versions: readonly Version[];
}

export function lostValues(versions: readonly Version[], choices: Choices): readonly LostValue[] {
  return comparedFields(versions).different.flatMap((name) => {
    const kept = chosenText(versions, choices, name);
    return alternativesOf(versions, name).flatMap(({ text, versions: own }) =>
      text === undefined || text === kept ? [] : [{ name, text, versions: own }],
    );
  });
}

/**
 * What two edits of the same text make together: for each field the version that changed it. `contested`: fields that both changed, each to
 * something else; the first version's is chosen.
 */
export function threeWay(
  base: JsonTree,
  mine: Version,
  theirs: Version,
): { readonly choices: Choices; readonly contested: readonly string[] } {
  const [before, own, other] = [base, mine.tree, theirs.tree].map(textsOf);
  const { different } = comparedFields([mine, theirs]);
  const isMine = (name: string) => own?.get(name) !== before?.get(name);
  const isTheirs = (name: string) => other?.get(name) !== before?.get(name);
  return {
    choices: new Map(different.map((name) => [name, { from: isMine(name) ? mine.key : theirs.key }])),
    contested: different.filter((name) => isMine(name) && isTheirs(name)),
  };
}
