/**
 * Reads a request's address by hand (docs/http/requests.md#request-path): the query is cut off, the path is split at `/`, empty
 * segments are dropped, and every segment is percent-decoded, once. No URL object is created: that would cost more than everything
 * else that a small request needs, and it would normalize `..` and `%2e` away, which are ordinary names here.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';

interface Target {
  readonly segments: readonly string[];
  /** What follows the `?`, still encoded; empty if there is none. */
  readonly search: string;
}

/**
 * `url` is absolute or begins with `/`, and is below `basePath`. Fails with `bad_request` if a segment can't be
 * decoded.
 */
export function parseTarget(url: string, basePath = ''): Target {
  const pathStart = pathStartOf(url) + basePath.length;
  const hash = url.indexOf('#', pathStart);
  const end = hash < 0 ? url.length : hash;
  const question = url.indexOf('?', pathStart);
  const pathEnd = question < 0 || question > end ? end : question;
  const search = pathEnd < end ? url.slice(pathEnd + 1, end) : '';
  return { segments: splitPath(url, pathStart, pathEnd), search };
}

/** Whether the address is `basePath` or something below it; `/database` is not below `/data`. */
export function isBelow(url: string, basePath: string): boolean {
  if (basePath === '') return true;
  const start = pathStartOf(url);
  return url.startsWith(basePath, start) && isPartEnd(url, start + basePath.length);
}

/** Scheme and authority of an absolute address, such as `https://example.org`; undefined for a path. */
export function originOf(url: string): string | undefined {
  const start = pathStartOf(url);
  return start === 0 ? undefined : url.slice(0, start);
}

/** The segments of `path`, decoded, without the empty ones. */
function splitPath(path: string, start = 0, end = path.length): string[] {
  const segments: string[] = [];
  let at = start;
  while (at < end) {
    const slash = path.indexOf('/', at);
    const segmentEnd = slash < 0 || slash > end ? end : slash;
    if (segmentEnd > at) segments.push(decodeSegment(path.slice(at, segmentEnd), segments.length));
    at = segmentEnd + 1;
  }
  return segments;
}

function pathStartOf(url: string): number {
  if (url.startsWith('/')) return 0;
  const scheme = url.indexOf('://');
  if (scheme < 0) return 0;
  let at = scheme + 3;
  while (!isPartEnd(url, at)) at++;
  return at;
}

/** Whether another part of the address, or its end, is at that position. */
function isPartEnd(url: string, at: number): boolean {
  return '/?#'.includes(url.charAt(at));
}

function decodeSegment(segment: string, index: number): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new DatabaseError('bad_request', undecodable(segment, index), { cause });
  }
}

function undecodable(segment: string, index: number): string {
  const wellFormed = !/%(?![0-9a-f]{2})/i.test(segment);
  if (wellFormed && index > 0) return 'Document id must be valid UTF-8';
  return `Path segment "${segment}" is not valid percent-encoding; write a literal % as %25.`;
}

/**
 * The query of an address, decoded on first use. The first value of a repeated name counts, except
 * if the reader iterates over all of them.
 */
export class Query {
  readonly #search: string;
  #parsed: URLSearchParams | undefined;

  /** What follows the `?`, still encoded. */
  constructor(search: string) {
    this.#search = search;
  }

  get isEmpty(): boolean {
    return this.#search === '';
  }

  get(name: string): string | undefined {
    return this.isEmpty ? undefined : (this.#params().get(name) ?? undefined);
  }

  /** Document flags: only the literal `true` switches one on (docs/http/documents.md#reading-a-document). */
  flag(name: string): boolean {
    return this.get(name) === 'true';
  }

  /** All parameters in the order of the address. */
  entries(): Iterable<[string, string]> {
    return this.#params();
  }

  #params(): URLSearchParams {
    this.#parsed ??= new URLSearchParams(this.#search);
    return this.#parsed;
  }
}
