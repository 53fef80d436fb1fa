/** Code with `fetch` for the commands that a block of the kind `console` shows. Nothing is written twice: pages have `curl` only. */

const ORIGIN = 'http://127.0.0.1:5984/';
/** Options without effect on the request, or on what the page shows of the response beyond its body. */
const SILENT = /^-(s|si|i|g|sS)$/;

/**
 * The code for the commands of a block; undefined if none can be run in a page. What can't is named in a comment. `missing` gathers the
 * databases that therefore don't exist, for the blocks that follow.
 */
export function toCode(block, base, missing) {
  const parts = readSteps(block).map(({ command }) => {
    const code = namesOf(command).some((name) => missing.has(name)) ? undefined : toFetch(command, base);
    if (code === undefined && /^npx settee (import|replicate) /.test(command)) missing.add(namesOf(command).at(-1));
    return code ?? `// Not in a page: ${command.length > 90 ? `${command.slice(0, 90)} …` : command}`;
  });
  return parts.every((part) => part.startsWith('//')) ? undefined : parts.join('\n\n');
}

/** The databases in the addresses of a command. */
function namesOf(command) {
  return [...command.matchAll(/http:\/\/127\.0\.0\.1:5984\/([a-z][\w%-]*)/g)].map(([, name]) => name);
}

/** The commands of a block, each with the lines of its answer. */
export function readSteps(block) {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command, ...lines] = step.trimEnd().split('\n');
      return { command, answer: lines.join('\n') };
    });
}

/**
 * The code for a command; undefined if a page can't do the same. `base` stands for the server's address. A pipe only chooses what
 * is shown, and is left out.
 */
export function toFetch(command, base) {
  const words = wordsOf(command);
  const end = words.indexOf('|');
  const ofCommand = end < 0 ? words : words.slice(0, end);
  if (ofCommand[0] === 'curl') return fromCurl(ofCommand.slice(1), base);
  if (end < 0 && ofCommand.slice(0, 3).join(' ') === 'npx settee import') return fromImport(ofCommand.slice(3), base);
  return undefined;
}

function fromCurl(words, base) {
  const request = { headers: {} };
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (SILENT.test(word)) continue;
    if (word === '-X') request.method = words[++at];
    else if (word === '-I') request.method = 'HEAD';
    else if (word === '-d') request.body = words[++at];
    else if (word === '-r') request.headers['Range'] = `bytes=${words[++at]}`;
    else if (word === '-u') request.headers['Authorization'] = `Basic ${btoa(words[++at])}`;
    else if (word === '-H') addHeader(request.headers, words[++at]);
    else if (word.startsWith(ORIGIN) && request.path === undefined) request.path = word.slice(ORIGIN.length);
    else return undefined;
  }
  if (request.path === undefined || request.body?.startsWith('@') || hasForbidden(request.headers)) return undefined;
  return `await fetch(${quote(base + request.path)}${optionsOf(request)});`;
}

/** Headers that a page may not set. */
function hasForbidden(headers) {
  return Object.keys(headers).some((name) =>
    /^(origin|cookie|host|referer|connection|x-http-method-override|accept-encoding)$/i.test(name),
  );
}

function addHeader(headers, line) {
  const [, name, value] = /^([^:]+): *(.*)$/.exec(line) ?? [];
  headers[name] = value;
}

/** curl sends a body by POST, unless told otherwise. */
function optionsOf({ method, headers, body }) {
  const how = method ?? (body === undefined ? 'GET' : 'POST');
  const parts = [
    ...(how === 'GET' ? [] : [`method: ${quote(how)}`]),
    ...(Object.keys(headers).length === 0 ? [] : [`headers: ${literal(headers, 2)}`]),
    ...(body === undefined ? [] : [`body: ${bodyOf(body)}`]),
  ];
  if (parts.length === 0) return '';
  const line = `{ ${parts.join(', ')} }`;
  return line.length < 70 && !line.includes('\n')
    ? `, ${line}`
    : `, {\n${parts.map((part) => `  ${part},\n`).join('')}}`;
}

/** JSON is easier to read as the object it stands for; what JavaScript would write differently stays a text. */
function bodyOf(body) {
  try {
    const value = JSON.parse(body);
    if (typeof value === 'object' && value !== null && sameJson(body, value))
      return `JSON.stringify(${literal(value, 2)})`;
  } catch {
    // A text.
  }
  return quote(body);
}

function sameJson(text, value) {
  const outsideOfStrings = (json) => json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
  return outsideOfStrings(text) === JSON.stringify(value);
}

/** A value as JavaScript, in one line if it is short. */
function literal(value, indent) {
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = indent + 2;
  const parts = Array.isArray(value)
    ? value.map((one) => literal(one, inner))
    : Object.entries(value).map(
        ([name, one]) => `${/^[a-z_$][\w$]*$/i.test(name) ? name : quote(name)}: ${literal(one, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (parts.length === 0) return open + close;
  const space = Array.isArray(value) ? '' : ' ';
  const line = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (line.length + indent < 90 && !line.includes('\n')) return line;
  const margin = ' '.repeat(indent);
  return `${open}\n${parts.map((part) => `${margin}  ${part},\n`).join('')}${margin}${close}`;
}

function quote(text) {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** The data of the tutorial is beside the pages. */
function fromImport([address, file, ...options], base) {
  if (file !== 'node_modules/world-countries/dist/countries.json' || options.join(' ') !== '--create --id cca3')
    return undefined;
  const path = quote(base + address.slice(ORIGIN.length));
  return [
    `await fetch(${path}, { method: 'PUT' });`,
    "const countries = await fetch('data/countries.json');",
    `await fetch(${path.slice(0, -1)}/_bulk_docs', {`,
    "  method: 'POST',",
    "  headers: { 'Content-Type': 'application/json' },",
    '  body: await countries.text(),',
    '});',
  ].join('\n');
}

/** As a shell reads them: quotes of both kinds, and a pipe as a word of its own. */
function wordsOf(command) {
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double),
  );
}
