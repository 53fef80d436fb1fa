/**
 * Makes list functions resumable, so that they can wait for their rows. QuickJS can suspend only generators, so a list
 * function becomes a generator if its own text shows that this changes nothing else: wherever it calls `getRow()` it also yields
 * while there is no row yet. Any other function is left as it is, and receives its rows all at once (`QuickJsProgram.list`).
 */

import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { ResumableSource } from '../runtime/protocol.ts';
import { openerOf, type Token, tokensOf } from './source-tokens.ts';

const GET_ROW = 'getRow';
/** Names that could call functions, or see their text, in ways that their text doesn't show. */
const UNTOLD = /^(?:eval|Function|constructor|with|yield|await|async|class|callee|caller|import)$/;
const OWN_OBJECTS = /^(?:this|arguments|super|target)$/;

/** A function, by the places of its tokens. */
interface Body {
  /** `function`, or the first token of an arrow function's parameters. */
  readonly first: number;
  /** `=>`, or undefined. */
  readonly arrow: number | undefined;
  /** The brackets of its body. */
  readonly opener: number;
  readonly closer: number;
}

interface Edit {
  readonly at: number;
  /** How many characters are left out there. */
  readonly length: number;
  readonly text: string;
  readonly check: string;
}

/** Returns undefined if the function might need its rows in a way that can't wait. */
export function toResumableSource(source: string): ResumableSource | undefined {
  const tokens = tokensOf(source);
  if (tokens === undefined || tokens.some(({ kind, text }) => isUntold(kind, text))) return undefined;
  const calls = tokens.flatMap(({ kind, text }, place) => (kind === 'word' && text === GET_ROW ? [place] : []));
  const bodies = new Map<number, Body>();
  const edits: Edit[] = [];
  for (const call of calls) {
    const body = isPlainCall(tokens, call) ? bodyAround(tokens, call) : undefined;
    if (body === undefined || !mayYield(tokens, body)) return undefined;
    bodies.set(body.opener, body);
    const behind = (tokens[call + 1]?.start ?? 0) + 1;
    edits.push({ at: behind, length: 0, text: `${GET_ROW}.waits()&&(yield)`, check: `${GET_ROW}.waits()&&(await 0)` });
  }
  for (const body of bodies.values()) edits.push(...generatorEdits(tokens, body));
  return { text: edited(source, edits, 'text'), check: edited(source, edits, 'check') };
}

function isUntold(kind: Token['kind'], text: string): boolean {
  return kind === 'word' ? UNTOLD.test(text) : kind === 'text' && text.includes(GET_ROW);
}

/** Returns whether this is a call of `getRow()` itself, not of a member of that name, nor its definition. */
function isPlainCall(tokens: readonly Token[], place: number): boolean {
  const before = tokens[place - 1]?.text ?? '';
  const isMember = before === '.' || before === '?.' || before === 'new' || before === 'function';
  return (
    !isMember && tokens[place + 1]?.text === '(' && tokens[place + 2]?.text === ')' && tokens[place + 3]?.text !== '{'
  );
}

/** Returns the innermost function that a token is in; undefined if it is of a kind that can't be a generator. */
function bodyAround(tokens: readonly Token[], place: number): Body | undefined {
  for (let opener = tokens[place]?.within ?? -1; opener >= 0; opener = tokens[opener]?.within ?? -1) {
    if (tokens[opener]?.text !== '{') continue;
    const before = tokens[opener - 1]?.text;
    if (before === '=>') return arrowBody(tokens, opener);
    if (before !== ')') continue;
    const parameters = openerOf(tokens, opener - 1);
    const word = tokens[parameters - 1];
    if (word?.text === 'function') return body(tokens, parameters - 1, opener);
    if (tokens[parameters - 2]?.text === 'function') return body(tokens, parameters - 2, opener);
    // Otherwise it is the method of an object.
    if (!/^(?:if|for|while|switch|catch)$/.test(word?.text ?? '')) return undefined;
  }
  return undefined;
}

function arrowBody(tokens: readonly Token[], opener: number): Body {
  const last = opener - 2;
  const first = tokens[last]?.text === ')' ? openerOf(tokens, last) : last;
  return body(tokens, first, opener, opener - 1);
}

function body(tokens: readonly Token[], first: number, opener: number, arrow?: number): Body {
  const { within } = tokens[opener] ?? {};
  const closer = tokens.findIndex(
    ({ text }, place) => place > opener && text === '}' && tokens[place]?.within === within,
  );
  return { first, arrow, opener, closer };
}

/** Returns whether this is the list function itself, or one that it passes to `provides`: runtime/lists.ts calls both, and takes generators. */
function mayYield(tokens: readonly Token[], { first, arrow, opener, closer }: Body): boolean {
  if (closer < 0) return false;
  const inside = tokens.slice(opener + 1, closer);
  if (arrow !== undefined && inside.some(({ kind, text }) => kind === 'word' && OWN_OBJECTS.test(text))) return false;
  const name = arrow === undefined && tokens[first + 1]?.text !== '(' ? tokens[first + 1]?.text : undefined;
  if (name !== undefined && tokens.filter(({ text }) => text === name).length > 1) return false;
  const isWhole = first === 0 && tokens.slice(closer + 1).every(({ text }) => text === ';');
  return isWhole || isProvided(tokens, first);
}

/** Returns whether this is `provides("type", function`, called by the surrounding list function. */
function isProvided(tokens: readonly Token[], first: number): boolean {
  const [word, bracket, type, comma] = tokens.slice(Math.max(0, first - 4), first);
  const isCall = word?.text === 'provides' && bracket?.text === '(' && type?.kind === 'text' && comma?.text === ',';
  return isCall && tokens[first - 5]?.text !== '.';
}

function generatorEdits(tokens: readonly Token[], { first, arrow }: Body): Edit[] {
  const start = tokens[first]?.start ?? 0;
  if (arrow === undefined) {
    const word = { at: start, length: 0, text: '', check: 'async ' };
    return [word, { at: start + 'function'.length, length: 0, text: '*', check: '' }];
  }
  const isBare = tokens[first]?.text !== '(';
  const head = {
    at: start,
    length: 0,
    text: `function*${isBare ? '(' : ''}`,
    check: `async function${isBare ? '(' : ''}`,
  };
  const end = isBare ? ')' : '';
  return [head, { at: tokens[arrow]?.start ?? 0, length: 2, text: end, check: end }];
}

function edited(source: string, edits: readonly Edit[], which: 'text' | 'check'): string {
  let result = '';
  let from = 0;
  for (const edit of [...edits].sort((left, right) => left.at - right.at)) {
    result += source.slice(from, edit.at) + edit[which];
    from = edit.at + edit.length;
  }
  return result + source.slice(from);
}

const ROW = 'getRow';

/** Finds out which list functions of a design document can be made resumable, each on first use. */
export class ResumableLists {
  readonly #designDocument: string;
  readonly #sources = new Map<string, ResumableSource | undefined>();

  /** Takes the design document's JSON text. */
  constructor(designDocument: string) {
    this.#designDocument = designDocument;
  }

  /** Returns undefined if the function can't be made resumable, or if there is none of that name. */
  async sourceOf(name: string): Promise<ResumableSource | undefined> {
    if (this.#sources.has(name)) return this.#sources.get(name);
    const source = await this.#find(name);
    this.#sources.set(name, source);
    return source;
  }

  async #find(name: string): Promise<ResumableSource | undefined> {
    const cursor = new JsonCursor(this.#designDocument);
    cursor.enter();
    let lists = '{}';
    const timeSlice = new TimeSlice();
    while (cursor.nextMember()) {
      // If a module calls getRow(), the list function can't yield in its place.
      if (cursor.name === 'lists') lists = cursor.valueText;
      else if (cursor.name.includes(ROW) || (await mentionsRow(cursor.valueText))) return undefined;
      if (timeSlice.isDue) await timeSlice.rest();
    }
    const all = await parseInTurns(lists);
    const source = isObject(all) ? ownMember(all, name) : undefined;
    return typeof source === 'string' ? toResumableSource(source) : undefined;
  }
}

/** Returns whether a text of the value, which is itself JSON text, contains the name, however it is written. */
async function mentionsRow(text: string): Promise<boolean> {
  if (text.includes(ROW)) return true;
  return text.includes('\\u') && JSON.stringify(await parseInTurns(text)).includes(ROW);
}
