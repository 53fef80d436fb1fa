/** A request as the text of a program that sends it again. */
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

/**
 * `curl …` for a shell. curl reaches no database of a browser: there the text says so, and asks the same of a server, which has the same
 * interface. `origin`: that of this page.
 */
export function asCurl({ method, path, contentType, body }: SentRequest, origin: string): string {
  const isInBrowser = path.startsWith('/db/');
  const address = isInBrowser ? `http://127.0.0.1:5984/${path.slice('/db/'.length)}` : `${origin}${path}`;
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${quote(address)}`,
    contentType !== undefined && `-H ${quote(`Content-Type: ${contentType}`)}`,
    body !== undefined && (typeof body === 'object' ? `--data-binary ${quote(body.text)}` : '--data-binary @file'),
  ].filter((line) => line !== false);
  const notes = [
    isInBrowser && '# curl does not reach the database in this browser: this asks the same of a Settee server.',
    typeof body === 'string' && `# ${missing(body)}`,
  ].filter((line) => line !== false);
  return [...notes, lines.join(' \\\n  ')].join('\n');
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
