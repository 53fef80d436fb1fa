/** Shows and updates: functions that answer with one response. */
import { designDocument, functionNamed } from './design-document.ts';
import { Failure } from './failures.ts';
import { SEPARATOR } from './protocol.ts';
import {
  beginRendering,
  type Rendering,
  runProvided,
  toRenderFailure,
  toResponseText,
  withChosenType,
} from './rendering.ts';
import { isObject, type Members, parse, stringify } from './values.ts';

/** Takes the texts of a document (`null` for none) and of a request, and gives the text of a response. */
export function show(name: string, documentText: string, requestText: string): string {
  const render = functionNamed('shows', name);
  const document = parse(documentText);
  const request = parse(requestText) as Members;
  const state = beginRendering();
  let returned: unknown;
  let provided: unknown;
  try {
    returned = render.call(designDocument, document, request);
    provided = runProvided(state, request);
  } catch (thrown) {
    const failure = toRenderFailure(thrown);
    if (failure.code !== 'render_error' || !isMissing(document, request)) throw failure;
    throw new Failure('not_found', '', 'document not found');
  }
  if (!mayRespond(returned) || !mayRespond(provided)) {
    throw new Failure('render_error', '', 'undefined response from show function');
  }
  return toResponseText(joinResponse(state, returned, provided));
}

/** As `show`, with the text of the document to save in front, or nothing, and a separator. */
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
  return `${document}${SEPARATOR}${toResponseText(joinResponse(state, returned[1], undefined))}`;
}

/** An edit is of one revision, which `_rev` names; a function may have made the document of another one with all its members. */
function withoutRevisions(document: Members): Members {
  const { _revisions, ...rest } = document;
  return _revisions === undefined ? document : rest;
}

/** Whether the path names a document that is not there. A function that fails on that is not at fault (docs/http.md#show-functions). */
function isMissing(document: unknown, request: Members): boolean {
  return document === null && typeof request['id'] === 'string';
}

/** Nothing is an answer without a body. */
function mayRespond(value: unknown): boolean {
  return value === undefined || value === null || isResponse(value);
}

function isResponse(value: unknown): boolean {
  return typeof value === 'string' || isObject(value);
}

/** What the function returned, what one given to `provides` did, and what start() and send() said, as one response object. */
function joinResponse(state: Rendering, returned: unknown, provided: unknown): Members {
  const { head, chunks } = state;
  const parts = [toResponse(returned), toResponse(provided)];
  const { code, json, base64 }: Members = Object.assign({}, head, ...parts);
  const headers = Object.assign({}, head['headers'], ...parts.map((part) => part?.['headers']));
  const bodies = parts.map((part) => part?.['body']).filter((body) => body !== undefined);
  const text = chunks.join('') + bodies.map(String).join('');
  const hasBody = chunks.length > 0 || bodies.length > 0;
  return { code, headers: withChosenType(state, headers), body: hasBody ? text : undefined, json, base64 };
}

function toResponse(value: unknown): Members | undefined {
  if (typeof value === 'string') return { body: value };
  return isObject(value) ? value : undefined;
}
