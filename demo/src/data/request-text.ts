/** A request as the text of a program that sends it again. */
import { copyAtServer } from './known-server.ts';
import type { SentRequest } from './request-log.ts';

/** `fetch(…)`, for the console of this page or a script of this origin. */
export function asFetch({ method, path, contentType, body }: SentRequest): string {
  const options = [
    method !== 'GET' && `  method: '${method}',`,
    contentType !== undefined && `  headers: { 'Content-Type': '${contentType}' },`,
    body !== undefined && `  body: ${typeof body === 'object' ? javaScriptOf(body.text) : `file, // ${missing(body)}`}`,
  ].filter((line) => line !== false);
  const address = `'${path.replaceAll("'", '%27')}'`;
  return options.length === 0 ? `await fetch(${address});` : `await fetch(${address}, {\n${options.join('\n')}\n});`;
}

/** Where a request goes that is copied as `curl`. */
export interface CurlPlaces {
  /** The origin of the page. */
  readonly origin: string;
  /** The address of the database server, with a slash at its end. Undefined: none is known. */
  readonly server: string | undefined;
}

/** The address at which a server listens by default. */
const DEFAULT_SERVER = 'http://127.0.0.1:5984/';

/**
 * `curl …` for a shell. A request to the server goes to the server itself. curl reaches no database of a browser: there the text says so, and asks
 * the same of the copy at the server, or else of a server that has such a database.
 */
export function asCurl({ method, path, contentType, body }: SentRequest, places: CurlPlaces): string {
  const { address, notes } = curlAddress(path, places);
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${quote(address)}`,
    contentType !== undefined && `-H ${quote(`Content-Type: ${contentType}`)}`,
    body !== undefined && (typeof body === 'object' ? `--data-binary ${quote(body.text)}` : '--data-binary @file'),
  ].filter((line) => line !== false);
  const comments = [...notes, ...(typeof body === 'string' ? [missing(body)] : [])].map((note) => `# ${note}`);
  return [...comments, lines.join(' \\\n  ')].join('\n');
}

function curlAddress(path: string, { origin, server }: CurlPlaces): { address: string; notes: readonly string[] } {
  if (path.startsWith('/server/')) {
    // Without a known address, by way of the server of this page.
    const address = server === undefined ? `${origin}${path}` : `${server}${path.slice('/server/'.length)}`;
    return { address, notes: [] };
  }
  if (!path.startsWith('/db/')) return { address: `${origin}${path}`, notes: [] };
  const rest = path.slice('/db/'.length);
  const [, database = '', below = ''] = /^([^/?]*)(.*)$/s.exec(rest) ?? [];
  const only = `Only this browser has the database ${decode(database)}, and curl does not reach it.`;
  // Design documents are not copied: each database of the demo has its own.
  const copy = below.startsWith('/_design') ? undefined : copyAtServer(database);
  if (server === undefined)
    return { address: DEFAULT_SERVER + rest, notes: [only, 'This asks the same of a server at the default address.'] };
  if (copy === undefined)
    return {
      address: server + rest,
      notes: [only, 'This asks the same of the server, which has no such database yet.'],
    };
  const notes = [
    `The database ${database} is in this browser, where curl does not reach it.`,
    `This asks the same of its copy at the server, ${copy}.`,
  ];
  return { address: server + copy + below, notes };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function missing(body: 'file' | 'long'): string {
  return body === 'file' ? 'the body was a file' : 'the body was too long to be kept here';
}

/** JSON as an expression that is easy to edit; any other text as a string. */
function javaScriptOf(text: string): string {
  try {
    return `JSON.stringify(${JSON.stringify(JSON.parse(text), null, 2).replaceAll('\n', '\n  ')}),`;
  } catch {
    return `${JSON.stringify(text)},`;
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
