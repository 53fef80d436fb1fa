/** Lists: functions that turn the rows of a view into an answer, at once or as the rows come. */
import { checkSyntax, compile, designDocument, functionNamed } from './functions.ts';
import { SEPARATOR } from './protocol.ts';
import {
  beginRendering,
  type Rendering,
  resumeRendering,
  runProvided,
  send,
  setRows,
  takeSent,
  toRenderFailure,
  toResponseText,
  withChosenType,
} from './rendering.ts';
import { type DocumentFunction, type Members, parse } from './values.ts';

/** A list that waits for rows. */
interface WaitingList {
  readonly steps: Generator<unknown, void>;
  readonly state: Rendering;
}

/** Runs a list with its rows from `pullRows`. Returns the head, and what was sent after the last pull. */
export function list(name: string, headText: string, requestText: string): string {
  const render = functionNamed('lists', name);
  const request = parse(requestText) as Members;
  const state = beginRendering({ isList: true });
  let tail: unknown;
  try {
    tail = render.call(designDocument, parse(headText), request);
    if (state.provided.length > 0) tail = runProvided(state, request);
  } catch (thrown) {
    throw toRenderFailure(thrown);
  }
  sendTail(tail);
  return `${listHead(state)}${SEPARATOR}${takeSent(state)}`;
}

/** List functions that can wait for their rows, by name. */
const resumableLists = new Map<string, DocumentFunction>();
const waitingLists = new Map<string, WaitingList>();
let lastId = 0;

/** Compiles a list function that can wait. Returns an empty text if its source does not compile as one (programs/resumable-source.ts). */
export function addList(name: string, check: string, source: string): string {
  functionNamed('lists', name);
  try {
    checkSyntax(check);
    resumableLists.set(name, compile(`lists.${name}`, source));
    return '1';
  } catch {
    return '';
  }
}

/** Like `list`, up to where it needs its first row. Returns its number and, after a separator, the step (see `stepOn`). */
export function beginList(name: string, headText: string, requestText: string): string {
  const render = resumableLists.get(name) as DocumentFunction;
  const state = beginRendering({ isList: true, isResumable: true });
  lastId++;
  const id = `${lastId}`;
  const steps = stepsOf(render, state, [parse(headText), parse(requestText) as Members]);
  return `${id}${SEPARATOR}${stepOn(id, { steps, state })}`;
}

/** Resumes a list. `rows`: a JSON array that is not empty, or an empty text after the last. Returns the step. */
export function resumeList(id: string, rows: string): string {
  const waiting = waitingLists.get(id) as WaitingList;
  const state = resumeRendering(waiting.state);
  if (rows === '') state.isAtEnd = true;
  else setRows(state, rows);
  return stepOn(id, waiting);
}

export function dropList(id: string): string {
  waitingLists.delete(id);
  return '';
}

/** Yields when a row must be waited for. */
function* stepsOf(
  render: DocumentFunction,
  state: Rendering,
  [head, request]: readonly [head: unknown, request: Members],
): Generator<unknown, void> {
  let tail = render.call(designDocument, head, request);
  if (isGenerator(tail)) tail = yield* tail;
  if (state.provided.length > 0) tail = runProvided(state, request);
  if (isGenerator(tail)) tail = yield* tail;
  sendTail(tail);
}

/**
 * Runs the list up to its next row. Returns `D` (done) or `W` (waits), the current head of the response, a separator, and
 * what it sent. The head is an empty text in the steps after one that sent something.
 */
function stepOn(id: string, waiting: WaitingList): string {
  const { state, steps } = waiting;
  // The caller has the head of an earlier step.
  const isHeadSent = state.hasSent;
  waitingLists.delete(id);
  try {
    const isDone = steps.next().done === true;
    const step = `${isDone ? 'D' : 'W'}${isHeadSent ? '' : listHead(state)}${SEPARATOR}${takeSent(state)}`;
    if (!isDone) waitingLists.set(id, waiting);
    return step;
  } catch (thrown) {
    throw toRenderFailure(thrown);
  }
}

function isGenerator(value: unknown): value is Generator<unknown, unknown> {
  return Object.prototype.toString.call(value) === '[object Generator]';
}

/** What a list function returns is sent last. */
function sendTail(tail: unknown): void {
  if (tail !== undefined && tail !== null) send(tail);
}

function listHead(state: Rendering): string {
  const { code, headers } = state.head;
  return toResponseText({ code, headers: withChosenType(state, Object.assign({}, headers)) });
}
