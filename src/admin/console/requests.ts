/** Requests that the user edits, sends and saves. */
import { signal } from '@preact/signals';
import { base, exchange, type ServerRequest, type ServerResponse } from '../server/client.ts';

/** A request as it stands in the form. */
export interface Draft {
  readonly method: string;
  readonly path: string;
  /** `name: value`, one a line. */
  readonly headers: string;
  readonly body: string;
}

export interface SavedRequest extends Draft {
  readonly name: string;
}

export interface Outcome extends ServerResponse {
  readonly tookMs: number;
}

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'COPY'] as const;
const KEY = 'settee-utils/requests';
/** POST requests that only read. */
const READS =
  /(^|\/)(_find|_explain|_all_docs|_bulk_get|_changes|_dbs_info|_revs_diff|_missing_revs|_view\/[^/]+)(\?|$)/;

export const emptyDraft: Draft = { method: 'GET', path: '', headers: '', body: '' };
export const savedRequests = signal<readonly SavedRequest[]>(readSaved());

export function toDraft({ method, path, json, headers }: ServerRequest): Draft {
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return { method, path, headers: lines.join('\n'), body: json ?? '' };
}

/** Fails if a header can't be read. */
export function toRequest({ method, path, headers, body }: Draft): ServerRequest {
  const found = headersIn(headers);
  const hasType = Object.keys(found).some((name) => name.toLowerCase() === 'content-type');
  const all = Object.keys(found).length === 0 ? {} : { headers: found };
  const request = { method, path: relativePath(path), ...all };
  if (body === '' || method === 'GET' || method === 'HEAD') return request;
  return hasType ? { ...request, body: new Blob([body]) } : { ...request, json: body };
}

export function isWrite({ method, path }: Draft): boolean {
  return method !== 'GET' && method !== 'HEAD' && !(method === 'POST' && READS.test(path));
}

/** Why the request can't be sent; undefined if nothing is known against it. */
export function whyNotSent(draft: Draft): string | undefined {
  try {
    const { json, path } = toRequest(draft);
    if (!new URL(path, base).href.startsWith(base.href)) return 'The page sends requests to its own server only.';
    if (json !== undefined) JSON.parse(json);
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError
      ? `The body is not JSON: ${error.message}`
      : `${error instanceof Error ? error.message : error}`;
  }
}

/** Sends the request of the form. It is logged like all others. */
export async function sendDraft(draft: Draft): Promise<Outcome> {
  const began = performance.now();
  const response = await exchange(toRequest(draft));
  return { ...response, tookMs: performance.now() - began };
}

export function saveRequest(name: string, draft: Draft): void {
  keep([...savedRequests.value.filter((one) => one.name !== name), { ...draft, name }]);
}

export function forgetRequest(name: string): void {
  keep(savedRequests.value.filter((one) => one.name !== name));
}

function keep(all: readonly SavedRequest[]): void {
  savedRequests.value = all.toSorted((one, other) => one.name.localeCompare(other.name));
  localStorage.setItem(KEY, JSON.stringify(savedRequests.value));
}

function readSaved(): readonly SavedRequest[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored.map(({ name, method, path, headers, body }) => ({
      name: `${name}`,
      method: `${method}`,
      path: `${path}`,
      headers: `${headers ?? ''}`,
      body: `${body ?? ''}`,
    }));
  } catch {
    return [];
  }
}

/** A path may be pasted with the slash at its beginning, or as a whole address of this server. */
function relativePath(path: string): string {
  const text = path.trim();
  const below = text.startsWith(base.href) ? text.slice(base.href.length) : text;
  return below.replace(/^\/+/, '');
}

function headersIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', value = ''] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
      if (name === '') throw new Error(`A header is “name: value”, not “${line}”.`);
      return [name, value];
    }),
  );
}
