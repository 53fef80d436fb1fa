/** Shows and updates: functions that return one response. */

import { Failure } from './failures.ts';
import { designDocument, functionNamed } from './functions.ts';
import { SEPARATOR } from './protocol.ts';
import {
  beginRendering,
  type Rendering,
  runProvided,
  takeSent,
  toRenderFailure,
  toResponseText,
  withChosenType,
} from './rendering.ts';
import { isObject, type Members, parse, stringify } from './values.ts';

/** What one function sent, and what it then returned. */
interface Said {
  readonly sent: string;
  readonly returned: unknown;
}

/** Takes the texts of a document (`null` for none) and of a request, and returns the text of a response. */
export function show(name: string, documentText: string, requestText: string): string {
  const render = functionNamed('shows', name);
  const document = parse(documentText);
  const request = parse(requestText) as Members;
  const state = beginRendering();
  const said: Said[] = [];
  try {
    const returned = render.call(designDocument, document, request);
    said.push({ sent: takeSent(state), returned });
    const provided = runProvided(state, request);
    said.push({ sent: takeSent(state), returned: provided });
  } catch (thrown) {
    const failure = toRenderFailure(thrown);
    if (failure.code !== 'render_error' || !isMissing(document, request)) throw failure;
    throw new Failure('not_found', '', 'document not found');
  }
  if (!said.every(({ returned }) => mayRespond(returned))) {
    throw new Failure('render_error', '', 'undefined response from show function');
  }
  return toResponseText(joinResponse(state, said));
}

/** Like `show`, preceded by the text of the document to save, or nothing, and a separator. */
export function update(name: string, documentText: string, requestText: string): string {
  const change = functionNamed('updates', name);
  const state = beginRendering();
  let returned: unknown;
  try {
    returned = change.call(designDocument, parse(documentText), parse(requestText));
  } catch (thrown) {
    throw toRenderFailure(thrown);
  }
  if (!Array.isArray(returned) || !isResponse(returned[1])) {
    throw new Failure('render_error', '', 'undefined response from update function');
  }
  const document = isObject(returned[0]) ? stringify(withoutRevisions(returned[0])) : '';
  return `${document}${SEPARATOR}${toResponseText(joinResponse(state, [{ sent: takeSent(state), returned: returned[1] }]))}`;
}

/** Removes `_revisions`: an edit has one revision, which `_rev` names, but a function may have copied all members of another document. */
function withoutRevisions(document: Members): Members {
  const { _revisions, ...rest } = document;
  return _revisions === undefined ? document : rest;
}

/** Returns whether the path names a missing document. A function that fails on that is not at fault (docs/http/functions.md#show-functions). */
function isMissing(document: unknown, request: Members): boolean {
  return document === null && typeof request['id'] === 'string';
}

/** Returns whether a value may be a response. Nothing is one without a body, and so are zero, false and other falsy values. */
function mayRespond(value: unknown): boolean {
  return !value || isResponse(value);
}

function isResponse(value: unknown): boolean {
  return typeof value === 'string' || (isObject(value) && !Array.isArray(value));
}

/** Members of start()'s argument that are not headers. */
const NO_HEADERS = ['code', 'headers', 'body', 'json', 'base64'];

/**
 * Joins what the functions returned and sent, in order, into one response. The argument of start(), `{code, headers}` as in lists or
 * the headers themselves, takes precedence over the headers that they return.
 */
function joinResponse(state: Rendering, said: readonly Said[]): Members {
  const { head } = state;
  const responses = said.map(({ returned }) => toResponse(returned));
  const { code, json, base64 }: Members = Object.assign({}, head, ...responses);
  const plainHeaders = Object.fromEntries(Object.entries(head).filter(([name]) => !NO_HEADERS.includes(name)));
  const headers = Object.assign(
    {},
    ...responses.map((response) => response?.['headers']),
    plainHeaders,
    head['headers'],
  );
  const texts = said.flatMap(({ sent }, at) => [sent === '' ? undefined : sent, responses[at]?.['body']]);
  const bodies = texts.filter((text) => text !== undefined && text !== null);
  const body = bodies.length > 0 ? bodies.map(String).join('') : undefined;
  return { code, headers: withChosenType(state, headers), body, json, base64 };
}

function toResponse(value: unknown): Members | undefined {
  if (typeof value === 'string') return { body: value };
  return isObject(value) ? value : undefined;
}
