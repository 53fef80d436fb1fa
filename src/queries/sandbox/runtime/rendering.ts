/**
 * What shows, lists and updates have in common: what one request has said so far, the helpers by which functions say it, and
 * the choice among the media types that they provide (docs/http/functions.md#responses-of-functions).
 */

import { describe, Failure, isOutOfMemory, log, toFailure } from './failures.ts';
import { designDocument } from './functions.ts';
import { type Acceptance, type AcceptedRange, acceptanceOf, createMediaTypes, parseAccept } from './media-types.ts';
import { type DocumentFunction, isObject, type Members, parse, stringify } from './values.ts';

/** Headers of one response: far more than clients take. Counted here, where no one waits for it. */
const MAX_HEADERS = 256;

/** Takes what a list has sent and returns its next rows, a JSON array, or an empty text after the last. */
export type PullRows = (sent: string) => string;

/** The arguments of `provides`: the short name of a media type, and the function that responds in that type. */
type Provided = readonly [key: string, answer: DocumentFunction];

/** What one request has said so far. */
export interface Rendering {
  readonly types: Map<string, readonly string[]>;
  readonly provided: Provided[];
  chosenType: string | undefined;
  /** What was sent and not yet taken. */
  chunks: string[];
  /** The argument of `start`. */
  head: Members;
  /** `send` was called with some text. */
  hasSent: boolean;
  /** Some text was sent before a row was requested, and may have left: the head of the response can't change any more. */
  hasBegun: boolean;
  readonly isList: boolean;
  /** It is a list that waits for its rows between two turns, rather than pull them. */
  readonly isResumable: boolean;
  rows: readonly unknown[];
  nextRow: number;
  isAtEnd: boolean;
}

/** The arguments of `registerType`: the short name of media types, and the types. */
export type TypeRegistration = readonly [key: string, names: readonly string[]];

/** Undefined between requests. */
let rendering: Rendering | undefined;
/** The types of the module that is being loaded. Undefined outside of modules. */
let loading: TypeRegistration[] | undefined;
let pullRows: PullRows = () => '';

/** To be called once, before any list runs. */
export function setPullRows(pull: PullRows): void {
  pullRows = pull;
}

export function beginRendering({ isList = false, isResumable = false } = {}): Rendering {
  return resumeRendering({
    types: createMediaTypes(),
    provided: [],
    chosenType: undefined,
    chunks: [],
    head: {},
    hasSent: false,
    hasBegun: false,
    isList,
    isResumable,
    rows: [],
    nextRow: 0,
    isAtEnd: false,
  });
}

/** Continues a request that waited. */
export function resumeRendering(state: Rendering): Rendering {
  rendering = state;
  return state;
}

export function endRendering(): void {
  rendering = undefined;
}

function mustRender(name: string): Rendering {
  if (rendering === undefined) throw new TypeError(`${name}() is for shows, lists and updates`);
  return rendering;
}

/** The helper `registerType`. */
export function registerType(key: string, ...names: string[]): void {
  if (loading === undefined) mustRender('registerType');
  registerTypes([[key, names]]);
}

/** Loads a module, and returns the types that it registers: it runs once, and they apply to each request that requires it. */
export function typesOf(load: () => void): readonly TypeRegistration[] {
  const outer = loading;
  const types: TypeRegistration[] = [];
  loading = types;
  try {
    load();
  } finally {
    loading = outer;
  }
  return types;
}

/** Registers types for the current request, if there is one, and for the module that is being loaded, if there is one. */
export function registerTypes(types: readonly TypeRegistration[]): void {
  for (const [key, names] of types) rendering?.types.set(key, names);
  loading?.push(...types);
}

/** The helper `provides`. */
export function provides(key: string, answer: DocumentFunction): void {
  mustRender('provides').provided.push([key, answer]);
}

/** The helper `start`. The last call before text is sent and a row is requested counts: getRow() sends that text. */
export function start(response: unknown): void {
  const state = mustRender('start');
  if (state.hasBegun) {
    log('start() after send() and getRow() changes nothing: the head of the answer was sent with the text');
  } else {
    state.head = isObject(response) ? response : {};
  }
}

/** The helper `send`. */
export function send(chunk: unknown): void {
  const state = mustRender('send');
  const text = String(chunk);
  state.chunks.push(text);
  state.hasSent ||= text !== '';
}

/** The helper `getRow`: the next row of the list, or null. */
export function getRow(): unknown {
  const state = mustRender('getRow');
  if (!state.isList) return null;
  state.hasBegun = state.hasSent;
  while (state.nextRow >= state.rows.length) {
    if (state.isAtEnd) return null;
    if (state.isResumable) {
      throw new Failure(
        'render_error',
        '',
        'getRow() was called where it cannot wait for a row: call it by its name, in the list function itself',
      );
    }
    const text = pullRows(takeSent(state));
    if (text === '') {
      state.isAtEnd = true;
      return null;
    }
    setRows(state, text);
  }
  return state.rows[state.nextRow++];
}

/** Returns whether getRow() has to wait; called by resumable list functions (programs/resumable-source.ts). */
getRow.waits = function waits(): boolean {
  return rendering?.isResumable === true && !rendering.isAtEnd && rendering.nextRow >= rendering.rows.length;
};

export function setRows(state: Rendering, text: string): void {
  state.rows = parse(text) as readonly unknown[];
  state.nextRow = 0;
}

export function takeSent(state: Rendering): string {
  return state.chunks.splice(0).join('');
}

/** Returns the result of the function that was chosen among those passed to `provides`; undefined if there are none. */
export function runProvided(state: Rendering, request: Members): unknown {
  const { provided, types } = state;
  if (provided.length === 0) return undefined;
  const chosen = choose(state, request);
  if (chosen === undefined) {
    const wanted = formatOf(request) || headerOf(request, 'accept');
    const known = provided.map(([key]) => (types.get(key) ?? [key]).join(', ')).join(', ');
    throw new Failure('not_acceptable', '', `Content-Type ${wanted} not supported, try one of: ${known}`);
  }
  state.chosenType = chosen.type;
  return chosen.answer.call(designDocument);
}

interface Choice {
  readonly answer: DocumentFunction;
  readonly type: string | undefined;
}

/** Chooses by ?format=, else by Accept (in doubt the one that was provided first), else the first. */
function choose(state: Rendering, request: Members): Choice | undefined {
  const format = formatOf(request);
  if (format) return firstChoice(state, ([key]) => key === format);
  const accept = headerOf(request, 'accept');
  if (accept === undefined || accept === '') return firstChoice(state, () => true);
  return acceptedChoice(state, parseAccept(accept));
}

function firstChoice({ provided, types }: Rendering, isWanted: (one: Provided) => boolean): Choice | undefined {
  const found = provided.find(isWanted);
  return found === undefined ? undefined : { answer: found[1], type: types.get(found[0])?.[0] };
}

function acceptedChoice({ provided, types }: Rendering, ranges: readonly AcceptedRange[]): Choice | undefined {
  let best: Choice | undefined;
  let bestFit: Acceptance = { quality: 0, exactness: -1 };
  for (const [key, answer] of provided) {
    for (const type of types.get(key) ?? []) {
      const fit = acceptanceOf(type, ranges);
      const isBetter =
        fit.quality > bestFit.quality || (fit.quality === bestFit.quality && fit.exactness > bestFit.exactness);
      if (fit.quality === 0 || !isBetter) continue;
      best = { answer, type };
      bestFit = fit;
    }
  }
  return best;
}

function formatOf({ query }: Members): unknown {
  return isObject(query) ? query['format'] : undefined;
}

function headerOf(request: Members, name: string): string | undefined {
  const headers = isObject(request['headers']) ? request['headers'] : {};
  const found = Object.keys(headers).find((key) => key.toLowerCase() === name);
  return found === undefined ? undefined : String(headers[found]);
}

/** Returns the headers, with the type that `provides` chose if a function named none itself. */
export function withChosenType({ chosenType }: Rendering, headers: Record<string, unknown>): Members {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (chosenType !== undefined && !hasType) headers['Content-Type'] = chosenType;
  return headers;
}

export function toResponseText(response: unknown): string {
  const headers = isObject(response) ? response['headers'] : undefined;
  const count = isObject(headers) ? Object.keys(headers).length : 0;
  if (count > MAX_HEADERS) {
    const reason = `A response has ${MAX_HEADERS} headers at most, and that of the function has ${count}. Send what is more in the body.`;
    throw new Failure('render_error', '', reason);
  }
  const text = stringify(response);
  if (text === undefined) throw new Failure('render_error', '', 'the response is not an object');
  return text;
}

/** Returns the failure for what a show, an update or a list threw. */
export function toRenderFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const isTold = Array.isArray(thrown) || (isObject(thrown) && !(thrown instanceof Error)) || isOutOfMemory(thrown);
  return isTold ? toFailure(thrown) : new Failure('render_error', '', `function raised error: ${describe(thrown)}`);
}
