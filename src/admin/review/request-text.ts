/** A request as the text of a program that sends it. */
import { parseJson } from '../json/json-tree.ts';
import { prettyJson, printCompact } from '../json/print-json.ts';
import { base, type ServerRequest } from '../server/client.ts';

/** `fetch(…)`, to be pasted into a script of the same origin. */
export function asFetch({ method, path, json, body, headers }: ServerRequest): string {
  const address = JSON.stringify(new URL(path, base).pathname + new URL(path, base).search);
  const all = { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers };
  const lines = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(Object.keys(all).length === 0 ? [] : [`  headers: ${JSON.stringify(all)},`]),
    ...(json !== undefined
      ? [`  body: ${isExactInJavaScript(json) ? `JSON.stringify(${indent(prettyJson(json))})` : JSON.stringify(json)},`]
      : []),
    ...(body !== undefined ? ['  body: file,'] : []),
  ];
  return lines.length === 0 ? `await fetch(${address})` : `await fetch(${address}, {\n${lines.join('\n')}\n})`;
}

/** `curl …` for a shell. */
export function asCurl({ method, path, json, body, headers }: ServerRequest): string {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(new URL(path, base).href)}`];
  if (json !== undefined) parts.push(`-H 'content-type: application/json'`);
  for (const [name, value] of Object.entries(headers ?? {})) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (json !== undefined) parts.push(`-d ${quote(prettyJson(json))}`);
  if (body !== undefined) parts.push('--data-binary @file');
  return parts.join(' \\\n  ');
}

/** Whether a program that reads the value and writes it again has the same text: not with `1.0` and numbers of more than 15 digits. */
function isExactInJavaScript(json: string): boolean {
  try {
    return JSON.stringify(JSON.parse(json)) === printCompact(parseJson(json));
  } catch {
    return true;
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
