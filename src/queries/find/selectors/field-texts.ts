/**
 * Takes single fields out of a document's text, as they were written: numbers keep their digits, and nothing is parsed.
 * The text is walked once, whatever the number of fields.
 */
import { OPEN_BRACE, OPEN_BRACKET } from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { atOnce, type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';
import { type FieldPath, isArrayIndex } from './field-path.ts';

/** What is wanted of a value: itself, as one of the fields, and what lies within. */
interface Wanted {
  /** The numbers of the fields that it is; several paths may mean the same. */
  readonly fields: number[];
  readonly members: Map<string, Wanted>;
}

/** A shape into which fields are put together. */
interface Shape {
  field: number | undefined;
  readonly members: Map<string, Shape>;
}

/** The fields of documents at some paths, none of them empty. */
export class FieldTexts {
  readonly #count: number;
  readonly #wanted: Wanted = { fields: [], members: new Map() };

  constructor(paths: readonly FieldPath[]) {
    this.#count = paths.length;
    for (const [field, { names }] of paths.entries()) {
      let at = this.#wanted;
      for (const name of names) at = memberOf(at.members, name, () => ({ fields: [], members: new Map() }));
      at.fields.push(field);
    }
  }

  /** Returns the JSON text of each field of an object's text, undefined if it has none. */
  of(text: string): (string | undefined)[] {
    return atOnce(this.inSteps(text));
  }

  /** Like `of`; yields to other work in the middle of a long text. */
  *inSteps(text: string): CooperativeTask<(string | undefined)[]> {
    const found = new Array<string | undefined>(this.#count).fill(undefined);
    yield* readMembers(new JsonCursor(text), this.#wanted, found);
    return found;
  }
}

/** Writes objects with some fields of documents (`fields` of a query, docs/http/find.md#find). */
export class Projection {
  readonly #texts: FieldTexts;
  readonly #shape: Shape = { field: undefined, members: new Map() };

  constructor(paths: readonly FieldPath[]) {
    this.#texts = new FieldTexts(paths);
    for (const [field, { names }] of paths.entries()) {
      let at = this.#shape;
      for (const name of names) at = memberOf(at.members, name, () => ({ field: undefined, members: new Map() }));
      at.field = field;
    }
  }

  /** Fields that the document does not have are left out, with the objects around them. */
  of(text: string): MaybePromise<string> {
    return whenReady(runCooperatively(this.#texts.inSteps(text)), (texts) => this.write(texts));
  }

  /** Like `of`, for texts that were already read. */
  write(texts: readonly (string | undefined)[]): string {
    return writeShape(this.#shape, texts) ?? '{}';
  }
}

function memberOf<T>(members: Map<string, T>, name: string, create: () => T): T {
  const known = members.get(name);
  if (known !== undefined) return known;
  const member = create();
  members.set(name, member);
  return member;
}

/** Texts up to this length are walked in one step. */
const SHORT = 65_536;

/** Reads an object's members: the cursor is before the object, and after it at the end. If a name occurs twice, the last one counts. */
function* readMembers(cursor: JsonCursor, wanted: Wanted, found: (string | undefined)[]): CooperativeTask<void> {
  cursor.enter();
  while (cursor.nextName()) {
    const member = wanted.members.get(cursor.name);
    if (member !== undefined) yield* readValue(cursor, member, found);
    else if (cursor.text.length <= SHORT) cursor.skipValue();
    else yield* cursor.skipValueInSteps();
  }
}

function* readElements(cursor: JsonCursor, wanted: Wanted, found: (string | undefined)[]): CooperativeTask<void> {
  cursor.enter();
  for (let index = 0; cursor.nextElementStart(); index++) {
    const member = wanted.members.get(`${index}`);
    if (member !== undefined) yield* readValue(cursor, member, found);
    else if (cursor.text.length <= SHORT) cursor.skipValue();
    else yield* cursor.skipValueInSteps();
  }
}

function* readValue(cursor: JsonCursor, wanted: Wanted, found: (string | undefined)[]): CooperativeTask<void> {
  clear(wanted, found);
  const start = cursor.position;
  const first = cursor.text.charCodeAt(start);
  if (wanted.members.size > 0 && first === OPEN_BRACE) yield* readMembers(cursor, wanted, found);
  else if (first === OPEN_BRACKET && hasIndex(wanted)) yield* readElements(cursor, wanted, found);
  else if (cursor.text.length <= SHORT) cursor.skipValue();
  else yield* cursor.skipValueInSteps();
  for (const field of wanted.fields) found[field] = cursor.text.slice(start, cursor.position);
}

/** Forgets what an earlier member of the same name had. */
function clear(wanted: Wanted, found: (string | undefined)[]): void {
  for (const field of wanted.fields) found[field] = undefined;
  for (const member of wanted.members.values()) clear(member, found);
}

function hasIndex({ members }: Wanted): boolean {
  for (const name of members.keys()) if (isArrayIndex(name)) return true;
  return false;
}

function writeShape({ field, members }: Shape, texts: readonly (string | undefined)[]): string | undefined {
  if (field !== undefined) return texts[field];
  const written: string[] = [];
  for (const [name, member] of members) {
    const text = writeShape(member, texts);
    if (text !== undefined) written.push(`${JSON.stringify(name)}:${text}`);
  }
  return written.length === 0 ? undefined : `{${written.join(',')}}`;
}
