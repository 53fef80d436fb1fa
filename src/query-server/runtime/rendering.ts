/** Shows, lists and updates inside an engine, with the media types that `provides` chooses among (completion.md 15). */
export const RENDERING = `
const TYPES = [
  ['all', '*/*'],
  ['text', 'text/plain; charset=utf-8', 'txt'],
  ['html', 'text/html; charset=utf-8'],
  ['xhtml', 'application/xhtml+xml', 'xhtml'],
  ['xml', 'application/xml', 'text/xml', 'application/x-xml'],
  ['js', 'text/javascript', 'application/javascript', 'application/x-javascript'],
  ['css', 'text/css'],
  ['ics', 'text/calendar'],
  ['csv', 'text/csv'],
  ['rss', 'application/rss+xml'],
  ['atom', 'application/atom+xml'],
  ['yaml', 'application/x-yaml', 'text/yaml'],
  ['multipart_form', 'multipart/form-data'],
  ['url_encoded_form', 'application/x-www-form-urlencoded'],
  ['json', 'application/json', 'text/x-json'],
];

/** What one request has said so far; undefined between requests. */
let rendering;

function beginRendering() {
  const types = new Map(TYPES.map(([key, ...names]) => [key, names]));
  rendering = { types, provided: [], chosenType: undefined, chunks: [], start: {}, rows: [], nextRow: 0, isList: false, isAtEnd: false };
}

function mustRender(name) {
  if (rendering === undefined) throw new TypeError(name + '() is for shows, lists and updates');
  return rendering;
}

function registerType(key, ...names) {
  mustRender('registerType').types.set(key, names);
}

function provides(key, answer) {
  mustRender('provides').provided.push([key, answer]);
}

function start(response) {
  mustRender('start').start = isObject(response) ? response : {};
}

function send(chunk) {
  mustRender('send').chunks.push(String(chunk));
}

function getRow() {
  const state = mustRender('getRow');
  if (!state.isList || state.isAtEnd) return null;
  while (state.nextRow >= state.rows.length) {
    const text = pullRows(state.chunks.join(''));
    state.chunks = [];
    if (text === '') {
      state.isAtEnd = true;
      return null;
    }
    state.rows = parse(text);
    state.nextRow = 0;
  }
  return state.rows[state.nextRow++];
}

const bareType = (name) => name.split(';')[0].trim().toLowerCase();

/** How well a media type fits an Accept header: [quality, how exact the range is] of the most exact range that fits. */
function acceptance(type, ranges) {
  const [kind, subtype] = type.split('/');
  let best = [0, -1];
  for (const { range, quality } of ranges) {
    const exactness = range === type ? 2 : range === kind + '/*' && subtype !== undefined ? 1 : range === '*/*' ? 0 : -1;
    if (exactness > best[1]) best = [quality, exactness];
  }
  return type === '*/*' && best[1] < 0 && ranges.some(({ quality }) => quality > 0) ? [0.001, 0] : best;
}

function parseAccept(header) {
  return header.split(',').map((part) => {
    const [range, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((text) => text.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    return { range: range === '*' ? '*/*' : range, quality: value >= 0 && value <= 1 ? value : 1 };
  });
}

function headerOf(request, name) {
  const headers = isObject(request.headers) ? request.headers : {};
  const found = Object.keys(headers).find((key) => key.toLowerCase() === name);
  return found === undefined ? undefined : String(headers[found]);
}

/** By ?format=, else by Accept (in doubt the one that was provided first), else the first. */
function choose(request) {
  const { provided, types } = rendering;
  const format = isObject(request.query) ? request.query.format : undefined;
  const accept = headerOf(request, 'accept');
  if (format) return provided.filter(([key]) => key === format).map(([key, answer]) => ({ answer, type: (types.get(key) || [])[0] }))[0];
  if (accept === undefined || accept === '') return { answer: provided[0][1], type: (types.get(provided[0][0]) || [])[0] };
  const ranges = parseAccept(accept);
  let best;
  for (const [key, answer] of provided) {
    for (const type of types.get(key) || []) {
      const [quality, exactness] = acceptance(bareType(type), ranges);
      const better = best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness);
      if (quality > 0 && better) best = { answer, type, quality, exactness };
    }
  }
  return best;
}

function runProvided(request) {
  const { provided, types } = rendering;
  const chosen = choose(request);
  if (chosen === undefined) {
    const wanted = (isObject(request.query) && request.query.format) || headerOf(request, 'accept');
    const known = provided.map(([key]) => (types.get(key) || [key]).join(', ')).join(', ');
    throw new Failure('not_acceptable', '', 'Content-Type ' + wanted + ' not supported, try one of: ' + known);
  }
  rendering.chosenType = chosen.type;
  return chosen.answer.call(designDocument);
}

const isResponse = (value) => typeof value === 'string' || isObject(value);
const asObject = (value) => (typeof value === 'string' ? { body: value } : value);

/** What a function returned, with what start() and send() said, as one response object. */
function join(returned, provided) {
  const { start: begun, chunks, chosenType } = rendering;
  const result = Object.assign({}, begun, asObject(returned), provided === undefined ? {} : asObject(provided));
  const bodies = [asObject(returned), provided === undefined ? undefined : asObject(provided)];
  const headers = Object.assign({}, begun.headers, ...bodies.map((body) => (isObject(body) ? body.headers : undefined)));
  const own = bodies.map((body) => (isObject(body) && body.body !== undefined ? String(body.body) : '')).join('');
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (chosenType !== undefined && !hasType) headers['Content-Type'] = chosenType;
  const hasBody = chunks.length > 0 || bodies.some((body) => isObject(body) && body.body !== undefined);
  const { code, json, base64 } = result;
  return { code, headers, body: hasBody ? chunks.join('') + own : undefined, json, base64 };
}

const toResponseText = (response) => {
  const text = stringify(response);
  if (text === undefined) throw new Failure('render_error', '', 'the response is not an object');
  return text;
};

function raised(thrown) {
  if (thrown instanceof Failure) return thrown;
  const isTold = Array.isArray(thrown) || (isObject(thrown) && !(thrown instanceof Error)) || isOutOfMemory(thrown);
  return isTold ? toFailure(thrown) : new Failure('render_error', '', 'function raised error: ' + describe(thrown));
}

/** A path that names a document which is not there, and a function that has nothing to say about it (completion.md 15). */
const isMissing = (document, request) => document === null && typeof request.id === 'string';

function show(name, documentText, requestText) {
  const render = named('shows', name);
  const document = parse(documentText);
  const request = parse(requestText);
  beginRendering();
  let returned;
  let provided;
  try {
    returned = render.call(designDocument, document, request);
    if (rendering.provided.length > 0) provided = runProvided(request);
  } catch (thrown) {
    const failure = raised(thrown);
    if (isMissing(document, request) && failure.code === 'render_error') throw new Failure('not_found', '', 'document not found');
    throw failure;
  }
  const hasSaid = isResponse(returned) || isResponse(provided) || rendering.chunks.length > 0;
  if (!hasSaid && rendering.provided.length === 0) {
    if (isMissing(document, request)) throw new Failure('not_found', '', 'document not found');
    throw new Failure('render_error', '', 'undefined response from show function');
  }
  return toResponseText(join(returned, provided));
}

function update(name, documentText, requestText) {
  const change = named('updates', name);
  beginRendering();
  let returned;
  try {
    returned = change.call(designDocument, parse(documentText), parse(requestText));
  } catch (thrown) {
    throw raised(thrown);
  }
  if (!Array.isArray(returned) || !isResponse(returned[1])) {
    throw new Failure('render_error', '', 'undefined response from update function');
  }
  const document = isObject(returned[0]) ? stringify(returned[0]) : '';
  return document + SEPARATOR + toResponseText(join(returned[1], undefined));
}

function list(name, headText, requestText) {
  const render = named('lists', name);
  const request = parse(requestText);
  beginRendering();
  rendering.isList = true;
  let tail;
  try {
    tail = render.call(designDocument, parse(headText), request);
    if (rendering.provided.length > 0) tail = runProvided(request);
  } catch (thrown) {
    throw raised(thrown);
  }
  if (tail !== undefined && tail !== null) send(tail);
  const { start: begun, chosenType, chunks } = rendering;
  const headers = Object.assign({}, begun.headers);
  const hasType = Object.keys(headers).some((key) => key.toLowerCase() === 'content-type');
  if (chosenType !== undefined && !hasType) headers['Content-Type'] = chosenType;
  return toResponseText({ code: begun.code, headers, body: chunks.join('') });
}
`;
